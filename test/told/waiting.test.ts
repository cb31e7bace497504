/** Each state in which something waits is told where docs/operating/waiting.md says that it is. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { overviewPage } from '../../src/console/pages/overview.ts';
import { readOverview } from '../../src/console/read/overview.ts';
import { createRulesShown } from '../../src/console/rules.ts';
import { renderHtml } from '../../src/lib/html.ts';
import { Secret } from '../../src/lib/secret.ts';
import { gradeHealth } from '../../src/ops/health-grade.ts';
import { readInstallation } from '../../src/ops/installation.ts';
import { freshnessOf } from '../../src/ops/status.ts';
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

async function shownBy(world: World) {
  const { store, clock, config } = world;
  const now = clock.now();
  const found = await readInstallation(store.db, config, now);
  const running = { ...found, daemon: { ...found.daemon, running: true }, backupAgeMs: 0 };
  const { grade, findings } = gradeHealth(running, config);
  const data = await readOverview(store.db, now, freshnessOf(config));
  const rules = await createRulesShown(store.db)();
  const html = renderHtml(overviewPage({ data, charts: NO_CHARTS, rules, now, timeZone: 'UTC' }));
  const tiles = [...html.matchAll(/tile t-(\w+)".*?<span>(.*?)<\/span><b>.*?<span.*?>(.*?)</gs)];
  const alarming = tiles.filter(([, state]) => state !== 'good');
  return {
    check: `${grade}: ${findings.join('; ')}`,
    tiles: alarming.map(([, , name, detail]) => `${name}: ${detail}`).join('\n'),
    incidents: found.causes.map(({ kind, advice }) => `${kind} → ${advice}`).join('\n'),
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
  const told = Object.values(cells).filter((cell) => quotedIn(cell) !== undefined);
  expect(told.length).toBeGreaterThanOrEqual(3);
});
