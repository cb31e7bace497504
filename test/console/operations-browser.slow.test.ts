/** Pulls in a real browser, as an operator and an approver use them. */

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchBrowser } from '../support/chromium.ts';
import { until, WITH_STOCK } from '../support/house.ts';
import { auditOf, type ConsoleHouse, startConsole } from './support.ts';
import { picture, visit } from './visit.ts';

const SLOW = { kind: 'latency', path: '*/variants/stock', delay: '6s', moment: 'before' };
const EMPTY = { kind: 'emptyList', path: '*/variants/stock', probability: 1 };

let browser: Browser;

beforeAll(async () => {
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
});

async function ask(page: Page, button: string, reason: string): Promise<void> {
  const form = page.locator('form', { has: page.getByRole('button', { name: button }) });
  await form.getByLabel('Reason').fill(reason);
  await form.getByRole('button', { name: button }).click();
}

/** Waits until no pull of the stock goes on, and gives the latest one. */
function lastPull({ daemon }: ConsoleHouse, outcome: string) {
  return until(`a pull that is ${outcome}`, () =>
    daemon.store.db
      .selectFrom('sync_run')
      .select(['run_id', 'outcome'])
      .where('stream', '=', 'stock')
      .orderBy('run_id', 'desc')
      .limit(1)
      .executeTakeFirst()
      .then((run) => (run?.outcome === outcome ? run.run_id : undefined)),
  );
}

it('an operator pulls and watches; an approver sees the first keys and releases', async () => {
  const house = await startConsole({ held: 1, settings: WITH_STOCK });
  const { knobs } = house.reference;
  await lastPull(house, 'complete');
  const olaf = await visit(browser, house, 'olaf', 'operator');
  const { page } = olaf;
  await page
    .getByRole('navigation')
    .getByRole('link', { name: /^Pulls/ })
    .click();
  await picture(page, 'pulls');
  await page.getByRole('link', { name: 'stock', exact: true }).first().click();
  knobs.patch({ faults: [SLOW, EMPTY] });
  await ask(page, 'Pull everything', 'looks odd');
  await page.locator('#done', { hasText: 'stock: being pulled now.' }).waitFor();
  const bar = page.locator('[data-pull="stock"]');
  await bar.getByText(/rows, \d+ %|rows so far/).waitFor();
  await picture(page, 'stream');
  expect(await bar.getByRole('progressbar').isVisible()).toBe(true);
  const held = await lastPull(house, 'suspicious');
  await page.getByText('A pull has ended meanwhile: show it').click();
  await bar.waitFor({ state: 'hidden' });
  await page.getByRole('link', { name: String(held), exact: true }).click();
  await page.getByText('Only an approver may do this.').waitFor();

  const anna = await visit(browser, house, 'anna', 'approver');
  await anna.page.goto(`${house.url}/pulls/runs/${held}`);
  const [first] = await anna.page.locator('.keys code').allTextContents();
  const stock = house.daemon.store.db.selectFrom('stock_variant').selectAll();
  const row = await stock.where('barcode', '=', String(first)).executeTakeFirstOrThrow();
  expect(row.deleted_at).toBeNull();
  await picture(anna.page, 'run');
  await ask(anna.page, 'Release, and delete', 'season is over');
  await anna.page.locator('#done', { hasText: `run ${held} counts` }).waitFor();
  expect((await stock.where('deleted_at', 'is', null).execute()).length).toBe(0);
  expect(await auditOf(house, 'sync.run_full')).toMatchObject([{ actor: 'olaf' }]);
  expect(await auditOf(house, 'sync.release')).toMatchObject([{ actor: 'anna' }]);
  for (const path of ['/events', '/events/replay?hours=24', '/system', '/system/doctor?now=1']) {
    await anna.page.goto(`${house.url}${path}`);
    await picture(anna.page, path.replaceAll(/[^a-z]+/g, '-').slice(1));
  }
  await anna.page.goto(`${house.url}/system/doctor`);
  await anna.page.getByText('whole (quick_check)').waitFor();
  const lists = ['/orders', '/refunds', '/events/missed', '/system/audit', '/system/people'];
  for (const path of [...lists, '/system/settings', '/system/backups']) {
    await anna.page.goto(`${house.url}${path}`);
    await picture(anna.page, path.replaceAll('/', '-').slice(1));
  }
  expect([olaf.complaints, anna.complaints]).toEqual([[], []]);
});
