/** People take a proposal in a real browser: to a trial, into a file, to a rule that watches. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { buildHouse, decideAll, HOUSE_FILES, type Policy } from '../suggest/clerk.ts';
import { launchBrowser } from '../support/chromium.ts';
import { auditOf, type ConsoleHouse, startConsole } from './support.ts';
import { picture, visit } from './visit.ts';

const DAY_MS = 86_400_000;
const DAYS = 36;

let browser: Browser;

beforeAll(async () => {
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
});

/** Small deliveries pass. */
const policy: Policy = ({ facts, byRules }) => {
  if (byRules.kind !== 'no_rule') return undefined;
  return (facts.delivery.quantity ?? 0) <= 15 ? 'accept' : 'hold';
};

/** A house with ten live rules, and five weeks in which people decided the rest. */
async function startWithPast(): Promise<ConsoleHouse> {
  const [settings, rules] = HOUSE_FILES;
  const house = await startConsole({ held: 0, rules: rules.text, atEnd: onTestFinished });
  writeFileSync(join(house.config.rules.directory, settings.path), settings.text);
  await house.daemon.reload({ actor: 'test', reason: '' });
  const { store } = house.daemon;
  const firstDay = Math.floor(Date.now() / DAY_MS - DAYS - 1) * DAY_MS;
  const past = await buildHouse({ days: DAYS, aDay: 30, store, firstDay });
  await decideAll(past, { policy, mistakes: 0.01 });
  return house;
}

/** Number of deliveries that the proposal would have accepted, as its page says. */
async function claimOf(page: Page): Promise<number> {
  const card = page.getByRole('article').filter({ hasText: 'accept-by-quantity' });
  const text = (await card.textContent()) ?? '';
  return Number(
    /([\d,]+) deliver\w+ accepted instead of “no rule applies”/.exec(
      text.replaceAll(/\s+/g, ' '),
    )?.[1],
  );
}

it('a proposal becomes a rule that watches, by the hands of two people', async () => {
  const house = await startWithPast();
  const author = await visit(browser, house, 'olaf', 'operator', { timeoutMs: 60_000 });
  const { page } = author;
  await page.getByRole('link', { name: 'Rules', exact: true }).click();
  await page.getByRole('link', { name: 'Proposals' }).click();
  const card = page.getByRole('article').filter({ hasText: 'accept-by-quantity' });
  await card.getByRole('heading', { name: 'delivery.quantity <= 15' }).waitFor();
  await picture(page, 'proposals');
  const claimed = await claimOf(page);
  expect(claimed).toBeGreaterThan(50);
  await card.getByText('Text to keep in a file').click();
  const draft = (await card.locator('pre').textContent()) ?? '';
  await picture(page, 'proposal');

  await card.getByRole('link', { name: 'Try it' }).click();
  const text = page.getByRole('textbox', { name: 'Rules' });
  expect(await text.inputValue()).toBe(draft);
  await picture(page, 'proposal-trial-form');
  await page.getByRole('button', { name: 'Try', exact: true }).click();
  const matrix = page.getByRole('group', { name: 'Was and would be' });
  const was = matrix.getByRole('row', { name: /^no rule/ });
  expect(Number((await was.getByRole('cell').first().locator('b').textContent()) ?? '')).toBe(
    claimed,
  );
  await picture(page, 'proposal-trial');
  expect(author.complaints).toEqual([]);

  writeFileSync(join(house.config.rules.directory, 'small.yaml'), draft);
  const approver = await visit(browser, house, 'anna', 'approver', { timeoutMs: 60_000 });
  const other = approver.page;
  await other.goto(`${house.url}/rules/reload`);
  await other.getByText('accept-by-quantity').first().waitFor();
  await picture(other, 'proposal-reload');
  await other.getByLabel('Reason').fill('as people decide');
  await other.getByRole('button', { name: 'Reload' }).click();
  await other.locator('#done .toast').waitFor();
  await other.goto(`${house.url}/rules/accept-by-quantity`);
  await other.getByText('small.yaml').waitFor();
  await other.getByText('Accept as people do').first().waitFor();
  expect(await other.locator('dl.facts').first().textContent()).toMatch(/State\s*only watched/);
  await picture(other, 'proposal-rule');
  const audit = await auditOf(house, 'rules.reload');
  expect(audit.at(-1)).toMatchObject({ actor: 'anna', reason: 'as people decide' });
  expect(approver.complaints).toEqual([]);
});
