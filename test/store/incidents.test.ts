import { expect, it } from 'vitest';
import { endIncidents, openIncident, reconcileIncidents } from '../../src/store/incidents.ts';
import type { Db } from '../../src/store/store.ts';
import { temporaryStore } from '../support/store.ts';

const about = (kind: string, entity: string, key: string) => ({ kind, entity, key, detail: {} });

const open = async (db: Db): Promise<string[]> => {
  const rows = await db
    .selectFrom('incident')
    .select(['kind', 'entity', 'key', 'at'])
    .where('resolved_at', 'is', null)
    .orderBy('id')
    .execute();
  return rows.map(({ kind, entity, key, at }) => `${kind} ${entity} ${key} ${at}`);
};

it('an incident is told once while it is open, and again once it has ended', async () => {
  const { db } = await temporaryStore();
  for (const at of [1, 2]) await openIncident(db, about('late', 'order', '7'), at);
  expect(await open(db)).toEqual(['late order 7 1']);
  expect(await endIncidents(db, { kind: 'late', entity: 'order' }, ['7'], 3)).toBe(1);
  expect(await endIncidents(db, { kind: 'late', entity: 'order' }, ['7'], 4)).toBe(0);
  await openIncident(db, about('late', 'order', '7'), 5);
  expect(await open(db)).toEqual(['late order 7 5']);
  const all = await db.selectFrom('incident').select('resolved_at').orderBy('id').execute();
  expect(all).toEqual([{ resolved_at: 3 }, { resolved_at: null }]);
});

it('ends alone what has its kind, its entity and its key', async () => {
  const { db } = await temporaryStore();
  const others = [
    about('odd', 'order', '7'),
    about('late', 'style', '7'),
    about('late', 'order', '8'),
  ];
  for (const one of [about('late', 'order', '7'), ...others]) await openIncident(db, one, 1);
  expect(await endIncidents(db, { kind: 'late', entity: 'order' }, ['7', '9'], 2)).toBe(1);
  expect(await open(db)).toEqual(['odd order 7 1', 'late style 7 1', 'late order 8 1']);
});

it('makes those of its kinds the ones that are wanted, and leaves those of others', async () => {
  const { db } = await temporaryStore();
  for (const key of ['1', '2']) await openIncident(db, about('late', 'order', key), 1);
  await openIncident(db, about('odd', 'order', '1'), 1);
  const wanted = [about('late', 'order', '2'), about('late', 'order', '3')];
  const told = await reconcileIncidents(db, ['late'], wanted, 2);
  expect(told).toEqual({ opened: [wanted[1]], ended: 1 });
  expect(await open(db)).toEqual(['late order 2 1', 'odd order 1 1', 'late order 3 2']);
});
