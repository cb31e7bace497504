/** Incidents one by one: who looks after them, which of them a person may end, and their past. */
import { expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import {
  createIncidentOperations,
  incidentOf,
  incidentsBefore,
  listIncidents,
} from '../../src/ops/incidents.ts';
import { deleteOldIncidents, endIncidents, openIncident } from '../../src/store/incidents.ts';
import { temporaryStore } from '../support/store.ts';

const LATE = { kind: 'push_late', entity: 'outbox', key: '7' } as const;
const GREW = { kind: 'file_grew', entity: 'file', key: 'day.csv' } as const;
const ADA = { actor: 'ada', reason: 'called the service' };

it('an incident keeps who looks after it; a person ends only what nothing else does', async () => {
  const store = await temporaryStore();
  const clock = manualClock();
  const { db } = store;
  const incidents = createIncidentOperations({ store, clock });
  const open = async (about: typeof LATE | typeof GREW) => {
    await openIncident(db, { ...about, detail: {} }, clock.now());
    const [found] = await listIncidents(db, { kind: about.kind }, { limit: 1 });
    return found?.incidentId ?? 0;
  };
  const late = await open(LATE);
  expect(await incidents.acknowledge(late, ADA)).toMatchObject({
    acknowledgedBy: 'ada',
    note: ADA.reason,
    resolvedAt: null,
  });
  // Somebody else takes it over.
  await incidents.acknowledge(late, { actor: 'ben', reason: '' });
  expect(await incidentOf(db, late)).toMatchObject({ acknowledgedBy: 'ben', note: null });
  await expect(incidents.resolve(late, ADA)).rejects.toMatchObject({
    code: 'incidents.ends_by_itself',
    hint: expect.stringMatching(/^it ends: it is sent, or ends\. See for what it waits\.$/),
  });
  const grew = await open(GREW);
  expect(await incidents.resolve(grew, ADA)).toMatchObject({ resolvedAt: clock.now() });
  await expect(incidents.acknowledge(grew, ADA)).rejects.toMatchObject({ code: 'incidents.ended' });
  await expect(incidentOf(db, 99)).rejects.toMatchObject({ code: 'incidents.unknown' });
  // The same happens again once it is over, and its page names the one before.
  await endIncidents(db, LATE, [LATE.key], clock.now());
  const again = await incidentOf(db, await open(LATE));
  const before = await incidentsBefore(db, again);
  expect(before.map(({ incidentId }) => incidentId)).toEqual([late]);
  expect((await listIncidents(db, {}, { limit: 9 })).map((one) => one.incidentId)).toEqual([
    again.incidentId,
  ]);
  // What is forgotten takes its note with it.
  await store.transaction((tx) => deleteOldIncidents(tx, clock.now() + 1));
  expect(await db.selectFrom('incident_ack').selectAll().execute()).toEqual([]);
});
