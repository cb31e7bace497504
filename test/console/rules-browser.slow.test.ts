/** A rule's author and an approver in a real browser: a change is tried, a reject is armed. */

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { launchBrowser } from '../support/chromium.ts';
import { startRulesHouse, writeSettings } from './rules-house.ts';
import { auditOf } from './support.ts';
import { picture, visit } from './visit.ts';

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

it('an author tries a changed rule on 30 days, and an approver arms a reject', async () => {
  const house = await startRulesHouse(onTestFinished);
  writeSettings(house);
  await house.daemon.reload({ actor: 'test', reason: '' });
  const author = await visit(browser, house, 'olaf', 'operator', { timeoutMs: 60_000 });
  const { page } = author;
  await page.getByRole('link', { name: 'Rules', exact: true }).click();
  await page.getByRole('cell', { name: '3', exact: true }).first().waitFor();
  await picture(page, 'rules');
  await page.getByRole('link', { name: 'Somebody looks at each delivery' }).click();
  await page.getByRole('heading', { name: 'Versions' }).waitFor();
  await picture(page, 'rule');
  await page.getByRole('link', { name: 'Try a change' }).click();
  const text = page.getByRole('textbox', { name: 'Rules' });
  expect(await text.inputValue()).toContain('- id: hold-all');
  await picture(page, 'trial-form');
  await text.fill((await text.inputValue()).replace('delivery.quantity', 'delivery.quantities'));
  await page.getByRole('button', { name: 'Try', exact: true }).click();
  await page.getByText('These rules cannot be used').waitFor();
  await page.getByText('did you mean: quantity?').waitFor();
  await picture(page, 'trial-mistakes');
  await text.fill(
    (await text.inputValue()).replace('delivery.quantities > 0', 'delivery.quantity > 1000000'),
  );
  await page.getByRole('button', { name: 'Try', exact: true }).click();
  await page
    .getByText('3 deliveries are pending, 3 of them would be decided otherwise, worth')
    .waitFor();
  const matrix = page.getByRole('group', { name: 'Was and would be' });
  expect(await matrix.getByRole('row', { name: /^held/ }).textContent()).toMatch(
    /3\s*[\d,.]+ [A-Z]{3}/,
  );
  await picture(page, 'trial');
  expect(author.complaints).toEqual([]);

  const approver = await visit(browser, house, 'anna', 'approver', { timeoutMs: 60_000 });
  const other = approver.page;
  await other.goto(`${house.url}/rules/trial?what=in-force`);
  await other.getByRole('button', { name: 'Try', exact: true }).click();
  await other.getByRole('button', { name: 'Keep the backtest' }).waitFor();
  await ask(other, 'Keep the backtest', 'for arming');
  await other.getByText(/^kept as report \d+\.$/).waitFor();
  await other.goto(`${house.url}/rules/reject-many`);
  await other.getByRole('link', { name: 'Arm it, match by match' }).click();
  await picture(other, 'arm');
  await ask(other, 'Yes, reject such', 'far too many');
  await other.getByText('looked at so far: 1 match of').waitFor();
  await ask(other, 'Yes, reject such', 'far too many');
  await other.getByText('Nothing is missing any more.').waitFor();
  await ask(other, 'Arm it', 'agreed with sales');
  await other.getByText(/^reject-many \(\w+\) is armed until/).waitFor();
  await picture(other, 'armed');
  await other.goto(`${house.url}/rules/reload`);
  await other.getByText('Nothing changes in effect.').waitFor();
  await picture(other, 'reload');
  expect(await auditOf(house, 'rules.arm')).toMatchObject([{ actor: 'anna' }]);
  expect(approver.complaints).toEqual([]);
});
