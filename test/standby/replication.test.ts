import { expect, it } from 'vitest';
import { gradeReplication } from '../../src/standby/replication.ts';

it('tells whether a replica confirms what is kept, as far as its user may see that', () => {
  const grade = (names: string, ...states: readonly (string | null)[]) =>
    gradeReplication({ names, replicas: states.map((state) => ({ name: 'one', state })) });
  expect([grade('*', 'async', 'quorum'), grade('*', 'sync')]).toEqual(['confirmed', 'confirmed']);
  expect([grade(' ', 'async'), grade('*', 'async'), grade('*')]).toEqual([
    'off',
    'nobody',
    'nobody',
  ]);
  expect([grade('*', 'async', null), grade('*', 'sync', null)]).toEqual(['unknown', 'confirmed']);
});
