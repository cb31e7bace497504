/** Every screen of the console, light and dark, wide and narrow, is judged by axe-core. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { SHIRT, seedGoods } from '../console/goods.ts';
import { startRulesHouse, trialOf } from '../console/rules-house.ts';
import { caller, heldIds } from '../console/support.ts';
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
  const [id] = await heldIds(house.daemon);
  await house.daemon.store.db.selectFrom('outbox').select('outbox_id').execute();
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
  await seedGoods(house.daemon.store, Date.now());
  const style = `/stock/${encodeURIComponent(SHIRT)}`;
  const of = ['', '/now', '/facts', '/changes', '/raw'];
  const parts = of.map((part) => `/deliveries/${id}${part}`);
  const [run, event] = await Promise.all([
    house.daemon.store.db.selectFrom('sync_run').select('run_id as id').executeTakeFirstOrThrow(),
    house.daemon.store.db.selectFrom('webhook_event').select('event_id').executeTakeFirstOrThrow(),
  ]);
  const suspicious = { outcome: 'suspicious', rows_held: 3 } as const;
  await house.daemon.store.db.updateTable('sync_run').set(suspicious).execute();
  // A trial belongs to the session that began it.
  const cookies = await context.cookies();
  const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  const own = caller(house.url, { cookie });
  const tried = await trialOf(own);
  const mistaken = await trialOf(own, { files: [{ path: 'a.yaml', text: 'rules:\n  - id: a\n' }] });
  const screens = [
    ...['/', '/review', `/review?open=${id}`, ...parts, '/outbox'],
    ...['/stock', style, `${style}?asOf=2020-01-01T00:00`, '/reports', '/reports/stock-grid'],
    `/reports/stock-grid?param.style=${encodeURIComponent(SHIRT)}`,
    ...['/reports/decisions-per-day', '/reports/stock-as-of?param.style=x&param.at=soon'],
    ...['/pulls', '/pulls/brands', `/pulls/runs/${run.id}`],
    ...['/events', `/events/${event.event_id}`, '/events/replay?hours=24'],
    ...['/system', '/system/doctor', '/system/doctor?now=1', '/system/settings'],
    ...['/system/audit', '/system/people'],
    ...['/rules', '/rules/hold-all', '/rules/reload', '/rules/trial', `/rules/trial/${mistaken}`],
    ...[`/rules/trial/${tried}`, '/rules/reject-many', '/rules/reject-many/arm'],
  ];
  for (const path of screens) await look(path);
  await look('/nowhere');
  await context.close();
  expect(found).toEqual([]);
});
