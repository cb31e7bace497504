/** Troubles of the night: also those that are over by now, and none of before. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { lastEvening, troubles, troublesText } from '../../src/ops/troubles.ts';
import { endIncidents, openIncident } from '../../src/store/incidents.ts';
import { readingOf } from '../support/reading.ts';
import { temporaryStore } from '../support/store.ts';

const HOUR_MS = 3_600_000;
/** Monday, 8:30 in Copenhagen; the night before, the clocks went an hour ahead. */
const NOW = Date.UTC(2026, 2, 29, 6, 30);
const EVENING = Date.UTC(2026, 2, 28, 17);

async function nightWorld() {
  const store = await temporaryStore();
  const { db } = store;
  const incident = async (kind: string, at: number, endedAt?: number) => {
    const about = { kind, entity: 'service', key: `${at}` };
    await openIncident(db, { ...about, detail: { says: `${kind} said` } }, at);
    if (endedAt !== undefined) await endIncidents(db, about, [about.key], endedAt);
  };
  const run = (stream: string, outcome: string, at: number) =>
    sql`insert into sync_run (stream, cause, started_at, ended_at, read_seq, options, checkpoint,
        outcome, reason)
      values (${stream}, 'schedule', ${at}, ${at + 1}, 1, '{}', '{}', ${outcome},
        'HTTP 503')`.execute(db);
  const push = (reference: string, state: string, at: number) =>
    sql`insert into outbox (kind, ordering_key, reference, body, body_hash, state, due_at,
        created_at, cause, ended_at, last_error)
      values ('order', ${reference}, ${reference}, '{}', '', ${state}, 0, 0, '', ${at},
        'no such city: Aarhus')`.execute(db);
  await incident('service_silent', EVENING - 3 * HOUR_MS, EVENING - HOUR_MS);
  await incident('events_missed', EVENING - 2 * HOUR_MS, EVENING + HOUR_MS);
  await incident('push_late', EVENING + 2 * HOUR_MS);
  for (const minute of [1, 2, 3]) await run('stock', 'failed', EVENING + minute * 60_000);
  await run('season', 'suspicious', EVENING - 1);
  await run('season', 'partial', EVENING + 1);
  await push('PO-1', 'refused', EVENING + 3 * HOUR_MS);
  await push('PO-2', 'confirmed', EVENING + 3 * HOUR_MS);
  await push('PO-3', 'dead', EVENING - 2);
  const read = async (given = {}, seesAddresses = true) => {
    const { rows } = await troubles.read(readingOf(store, NOW, { seesAddresses }), given);
    return rows.map(({ thing, what, says, times }) => `${thing} ${what} [${says}] ${times}`);
  };
  return { read };
}

it('the night has also incidents that are over, pulls by stream, and pushes in vain', async () => {
  const { read } = await nightWorld();
  expect(lastEvening(NOW, 'Europe/Copenhagen')).toBe(EVENING);
  const night = [
    'push order refused: PO-1 [no such city: Aarhus] 1',
    'incident A push is late [push_late said] 1',
    'run pull of stock: failed [HTTP 503] 3',
    'incident Events stay away [events_missed said] 1',
  ];
  expect(await read()).toEqual(night);
  expect(await read({ thing: 'run' })).toEqual([night[2]]);
  // An answer of the service may quote a document, which not everybody may read.
  expect((await read({}, false))[0]).toBe('push order refused: PO-1 [] 1');
  const day = await read({ since: EVENING - 4 * HOUR_MS, until: EVENING });
  expect(day.map((one) => one.replace(/ \[.*/, ''))).toEqual([
    'run pull of season lists: suspicious',
    'push order given up: PO-3',
    'incident Events stay away',
    'incident The service does not answer',
  ]);
  expect([0, 1, 2].map(troublesText)).toEqual([
    'nothing went wrong',
    '1 thing went wrong',
    '2 things went wrong',
  ]);
});
