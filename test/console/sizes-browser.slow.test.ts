/** The console on a telephone and on paper. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchBrowser } from '../support/chromium.ts';
import { startConsole } from './support.ts';
import { visit } from './visit.ts';

const TELEPHONE = { width: 390, height: 800 };

let browser: Browser;

beforeAll(async () => {
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
});

it('a tap anywhere on a row of a telephone shows the delivery at once', async () => {
  const house = await startConsole({ held: 8 });
  const { page, complaints } = await visit(browser, house, 'anna', 'operator');
  await page.setViewportSize(TELEPHONE);
  await page.goto(`${house.url}/review`);
  const last = page.locator('tr[data-row]').last();
  const { width = 0, height = 0 } = (await last.boundingBox()) ?? {};
  await last.click({ position: { x: width - 10, y: height - 5 } });
  const number = (await last.locator('a[data-open]').textContent()) ?? '';
  const title = page.locator('#detail article h2', { hasText: number });
  await title.waitFor();
  const seen = await title.boundingBox();
  expect(seen?.y).toBeGreaterThanOrEqual(0);
  expect(seen?.y).toBeLessThan(TELEPHONE.height / 2);
  const wide = await page.evaluate('document.documentElement.scrollWidth');
  expect(wide).toBe(TELEPHONE.width);
  expect(complaints).toEqual([]);
});

it('a report of many columns is printed across, a list of few upright', async () => {
  const house = await startConsole({ held: 1 });
  const { page } = await visit(browser, house, 'anna', 'operator');
  const sheet = async (path: string): Promise<string> => {
    await page.goto(`${house.url}${path}`);
    const pdf = (await page.pdf({ preferCSSPageSize: true })).toString('latin1');
    const [, width = 0, height = 0] = /\/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]/.exec(pdf) ?? [];
    return Number(width) > Number(height) ? 'across' : 'upright';
  };
  expect(await sheet('/reports/customers')).toBe('across');
  expect(await sheet('/review')).toBe('upright');
});
