/** Each state in which something waits is told where docs/operating/waiting.md says that it is. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { overviewPage } from '../../src/console/pages/overview.ts';
import { readOverview } from '../../src/console/read/overview.ts';
import { readSales } from '../../src/console/read/sales.ts';
import { createRulesShown } from '../../src/console/rules.ts';
import { renderHtml } from '../../src/lib/html.ts';
import { Secret } from '../../src/lib/secret.ts';
import { checksOf, gradeHealth } from '../../src/ops/health-grade.ts';
import { type Installation, installationOf } from '../../src/ops/installation.ts';
import { configOf } from '../config/config-of.ts';
import { repositoryRoot } from '../support/source.ts';
import { doctorOf, makeWorld, STATES, type World } from './states.ts';

const page = readFileSync(join(repositoryRoot, 'docs/operating/waiting.md'), 'utf8');

/** Cells of the rows of the table whose first cell is a state. */
const rows = new Map(
  [...page.matchAll(/^\| \*\*(.+?)\*\*(.*)$/gm)].map(([, state = '', rest = '']) => [
    state,
    rest.split(' | ').map((cell) => cell.replace(/ \|$/, '').trim()),
  ]),
);

/** What a cell quotes; `…` stands for anything. */
function quotedIn(cell: string): RegExp | undefined {
  const [, words] = /`([^`]+)`/.exec(cell) ?? [];
  const parts = words?.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return parts && new RegExp(parts.join('.*'));
}

const SETTINGS = [
  { path: 'service.v1.baseUrl', value: 'http://127.0.0.1:9/api/v1' },
  { path: 'service.v1.login.clientId', value: 'id' },
  { path: 'service.v1.login.clientSecret', value: new Secret('clientSecret', 'secret') },
  { path: 'rules.directory', value: 'test' },
];

const NO_CHARTS = {
  ...{ hours: [], ages: [], decisions: [], queue: { depths: [], oldestMs: [] } },
  lag: { medianMs: [], longestMs: [] },
};

/** Colours of the tiles, from the best. */
const COLOURS = ['good', 'look', 'bad'] as const;
const COLOUR_OF = { ok: 'good', warning: 'look', critical: 'bad' } as const;

/** Shows the installation as a running one with a backup is shown, but for `more`. */
async function shownBy(world: World, more: Partial<Installation> = {}) {
  const { store, clock, config } = world;
  const now = clock.now();
  const settings = installationOf(config);
  const read = await readOverview(store.db, now, settings);
  const daemon = { ...read.status.daemon, running: true };
  const status = { ...read.status, daemon, backupAgeMs: 0, ...more };
  const checks = checksOf(status, settings, now);
  const { grade, findings } = gradeHealth(status, settings, now);
  const rules = await createRulesShown(store.db)();
  const data = { ...read, status, checks };
  const sales = await readSales(store.db, now, 'UTC');
  const night = { since: now, rows: [] };
  const view = { data, charts: NO_CHARTS, sales, rules, night, now, timeZone: 'UTC' };
  const html = renderHtml(overviewPage(view));
  const tiles = [...html.matchAll(/tile t-(\w+)".*?<span>(.*?)<\/span>\s<b>.*?<span.*?>(.*?)</gs)];
  const alarming = tiles.filter(([, state]) => state !== 'good');
  return {
    grade,
    colour: COLOURS.findLast((one) => tiles.some(([, state]) => state === one)),
    check: `${grade}: ${findings.join('; ')}`,
    tiles: alarming.map(([, , name, detail]) => `${name}: ${detail}`).join('\n'),
    incidents: status.causes.map(({ kind, advice }) => `${kind} → ${advice}`).join('\n'),
    doctor: await doctorOf(world),
  };
}

it('has a row for each state', () => {
  expect([...rows.keys()].sort()).toEqual(Object.keys(STATES).sort());
});

it.each(Object.entries(STATES))('tells of: %s', async (state, make) => {
  const world = await makeWorld(configOf(SETTINGS));
  const before = await shownBy(world);
  await make(world);
  const shown = await shownBy(world);
  const [, , , check = '', tile = '', incident = '', doctor = ''] = rows.get(state) ?? [];
  const cells = { check, tiles: tile, incidents: incident, doctor };
  for (const place of ['check', 'tiles', 'incidents', 'doctor'] as const) {
    const wanted = quotedIn(cells[place]);
    if (wanted === undefined) continue;
    expect(shown[place], place).toMatch(wanted);
    expect(before[place], `${place} before`).not.toMatch(wanted);
  }
  expect(shown.colour).toBe(COLOUR_OF[shown.grade]);
  expect(shown.tiles.includes('Incidents: ')).toBe(shown.incidents !== '');
  const told = Object.values(cells).filter((cell) => quotedIn(cell) !== undefined);
  expect(told.length).toBeGreaterThanOrEqual(3);
});

const BY_ANNA = { name: '', actor: 'anna', reason: 'stocktaking', at: 0 };
const RULES = { mode: 'live', valid: true, set: 'live', rules: 2, live: 2 } as const;

it.each<[string, Partial<Installation>, string]>([
  ['nothing', {}, ''],
  ['no backup', { backupAgeMs: null }, 'System: there is no backup'],
  ['an old backup', { backupAgeMs: 1e9 }, 'System: the newest backup is older than a day'],
  ['a pause of decisions', { paused: [{ ...BY_ANNA, target: 'decisions' }] }, 'Rules: paused'],
  ['a pause of stock', { paused: [{ ...BY_ANNA, target: 'stream', name: 'stock' }] }, 'Pulls: '],
  ['a pause of everything', { paused: [{ ...BY_ANNA, target: 'all' }] }, 'Pushes: '],
  ['a dry run', { dryRun: true }, 'nothing is sent (outbox.dryRun)'],
  ['rules without a live one', { rules: { ...RULES, live: 0 } }, 'Rules: none of the 2 rules'],
  ['rules with mistakes', { rules: { ...RULES, valid: false } }, 'Rules: the rules have mistakes'],
  ['no rules', { rules: { ...RULES, rules: 0 } }, 'Rules: no rule is in force'],
  ['a full disk', { freeBytes: 0 }, 'System: the disk is full'],
  [
    'no daemon',
    { daemon: { running: false, holder: null, leaseEndsAt: null } },
    'System: the daem',
  ],
])('colours the overview for %s as the check does', async (_what, more, tile) => {
  const shown = await shownBy(await makeWorld(configOf(SETTINGS)), more);
  expect(shown.colour).toBe(COLOUR_OF[shown.grade]);
  expect(shown.tiles).toContain(tile);
  if (tile === '') expect(shown).toMatchObject({ grade: 'ok', colour: 'good' });
});
