/** Stock and reports in a real browser, as somebody uses them who answers a customer. */

import { readFileSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { readSheet } from 'read-excel-file/node';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchBrowser } from '../support/chromium.ts';
import { CUSTOMER, DAY_MS, SHIRT, seedGoods } from './goods.ts';
import { heldIds, startConsole } from './support.ts';
import { picture, visit } from './visit.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
});

it('somebody finds a style, its past and its orders, and takes home a workbook', async () => {
  const house = await startConsole({ held: 1 });
  await seedGoods(house.daemon.store, Date.now());
  const { page, complaints } = await visit(browser, house, 'vera', 'viewer');
  await picture(page, 'overview');

  await page.getByRole('link', { name: 'Stock', exact: true }).click();
  await picture(page, 'styles');
  await page.getByLabel('Style, name, brand or barcode').fill('oxford');
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.getByRole('link', { name: SHIRT, exact: true }).click();
  const grid = page.getByRole('group', { name: 'Pieces by colour and size' });
  await grid.getByRole('cell', { name: '-3', exact: true }).first().waitFor();
  expect(await grid.locator('thead th').allTextContents()).toEqual([
    ...['Colour', 'Pieces', 'XS', 'S', 'M', 'XL', '3XL', 'Total'],
  ]);
  await page.getByRole('group', { name: 'Open orders' }).getByText(CUSTOMER).waitFor();
  await picture(page, 'style');
  await page.getByText('As a table').click();
  const then = new Date(Date.now() - 2 * DAY_MS).toISOString().slice(0, 16);
  await page.getByLabel(/^As it was/).fill(then);
  await page.getByRole('button', { name: 'Show' }).click();
  await grid.getByRole('cell', { name: '30', exact: true }).first().waitFor();
  await picture(page, 'style-past');

  await page.getByRole('link', { name: 'Reports', exact: true }).click();
  await picture(page, 'reports');
  await page.getByRole('link', { name: 'stock-grid' }).click();
  await page.getByLabel('Style', { exact: true }).fill(SHIRT);
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText('Nordlys · S-100/1 · Oxford shirt').waitFor();
  await picture(page, 'report');
  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: 'XLSX' }).click();
  const rows = await readSheet(readFileSync(await (await download).path()));
  expect(rows.flat()).toEqual(expect.arrayContaining(['Navy', 'XS', -3]));

  const [id] = await heldIds(house.daemon);
  await page.goto(`${house.url}/deliveries/${id}`);
  await picture(page, 'delivery');
  expect(complaints).toEqual([]);
});
