/** Every screen of the console, light and dark, wide and narrow, is judged by axe-core. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startRulesHouse } from '../console/rules-house.ts';
import { screensOf } from '../console/screens.ts';
import { caller } from '../console/support.ts';
import { launchBrowser } from '../support/chromium.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let browser: Browser;

beforeAll(async () => {
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
});

const WIDTHS = [
  [1280, 900],
  [390, 800],
] as const;

it.each(['light', 'dark'] as const)('axe finds nothing on any screen, %s', async (colorScheme) => {
  const house = await startRulesHouse(onTestFinished);
  // axe is put into the page, which its policy would refuse.
  const context = await browser.newContext({ colorScheme, bypassCSP: true });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  const found: string[] = [];
  const look = async (path: string): Promise<void> => {
    await page.goto(path.startsWith('http') ? path : `${house.url}${path}`);
    await page.evaluate(AXE);
    for (const [width, height] of WIDTHS) {
      await page.setViewportSize({ width, height });
      const violations = await page.evaluate(async () => {
        const { axe } = globalThis as unknown as {
          axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
        };
        const { violations: all } = await axe.run();
        return all.map((one) => `${one.id}: ${one.nodes[0]?.html}`);
      });
      found.push(...violations.map((text) => `${path} at ${width} px: ${text}`));
    }
  };
  const link = await house.daemon.consoleLink('anna', 'approver');
  await look(link);
  await page.getByRole('button', { name: 'Sign in with this link' }).click();
  await page.waitForURL(`${house.url}/`);
  const cookies = await context.cookies();
  const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  const screens = await screensOf(house, caller(house.url, { cookie }));
  for (const path of screens) await look(path);
  await look('/nowhere');
  await context.close();
  expect(found).toEqual([]);
});
