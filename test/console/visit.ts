/** People who visit the console with a real browser. */
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import type { Role } from '../../src/surface/roles.ts';
import { watchPage } from '../support/chromium.ts';
import type { ConsoleHouse } from './support.ts';

const WIDE = { width: 1_300, height: 900 };
const NARROW = { width: 390, height: 800 };

export interface Visit {
  readonly page: Page;
  /** Must be empty at the end. */
  readonly complaints: readonly string[];
}

/** Signs in by a link; the page is closed with the test. */
export async function visit(
  browser: Browser,
  house: ConsoleHouse,
  name: string,
  role: Role,
  { scripts = true, timeoutMs = 120_000 } = {},
): Promise<Visit> {
  const context = await browser.newContext({ viewport: WIDE, javaScriptEnabled: scripts });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(timeoutMs);
  const complaints = watchPage(page, house.url);
  await page.goto(await house.daemon.consoleLink(name, role));
  await page.getByRole('button', { name: 'Sign in with this link' }).click();
  await page.waitForURL(`${house.url}/`);
  return { page, complaints };
}

/** With SCREENSHOTS set to a folder, keeps pictures of the page for a person to look at. */
export async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env.SCREENSHOTS;
  if (!folder) return;
  const shot = (kind: string) =>
    page.screenshot({ path: join(folder, `${name}-${kind}.png`), fullPage: true });
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    await shot(colorScheme);
  }
  await page.emulateMedia({ media: 'print' });
  await shot('print');
  await page.emulateMedia({ media: 'screen' });
  await page.setViewportSize(NARROW);
  await shot('narrow');
  await page.setViewportSize(WIDE);
}
