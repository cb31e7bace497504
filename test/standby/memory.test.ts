import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openMemory } from '../../src/standby/memory.ts';
import { temporaryFolder } from '../support/store.ts';

it('the memory of a data folder keeps its takings and the highest timeline', () => {
  const folder = temporaryFolder();
  const memory = openMemory({ dataDir: folder, machine: 'here' });
  expect([memory.hasHeld(), memory.highest()]).toEqual([false, 0]);
  memory.note('first');
  memory.note('second');
  memory.saw(3);
  const again = openMemory({ dataDir: folder, machine: 'here' });
  expect([again.isOwn('first'), again.isOwn('second'), again.isOwn('other')]).toEqual([
    true,
    true,
    false,
  ]);
  expect([again.hasHeld(), again.highest()]).toEqual([true, 3]);
  const proof = { isHandedOver: true, isProven: true, isAgain: false };
  again.note('third', proof);
  const third = openMemory({ dataDir: folder, machine: 'here' });
  expect(third.proofOf('third')).toMatchObject(proof);
  expect(third.proofOf('second')).toBeUndefined();
  // A daemon's taking is no take-over, and what cannot be read proves nothing.
  third.note('fourth');
  expect(openMemory({ dataDir: folder, machine: 'here' }).proofOf('third')).toBeUndefined();
  const odd = { takings: ['third'], proof: { taking: 'third', isHandedOver: 'yes' } };
  writeFileSync(join(folder, 'standby.json'), JSON.stringify(odd));
  expect([
    openMemory({ dataDir: folder, machine: 'here' }).isOwn('third'),
    openMemory({ dataDir: folder, machine: 'here' }).proofOf('third'),
  ]).toEqual([true, undefined]);
  writeFileSync(join(folder, 'standby.json'), '{"timeline":');
  expect(() => openMemory({ dataDir: folder, machine: 'here' })).toThrow(/cannot be understood/);
});

it('the memory of a copied data folder is another machine’s, except for the timeline', () => {
  const dataDir = temporaryFolder();
  const memory = openMemory({ dataDir, machine: 'first' });
  memory.saw(4);
  memory.note('ours', { isHandedOver: true, isProven: true, isAgain: false });
  const copy = openMemory({ dataDir, machine: 'second' });
  expect([copy.isOwn('ours'), copy.hasHeld(), copy.proofOf('ours')]).toEqual([
    false,
    false,
    undefined,
  ]);
  expect(copy.highest()).toBe(4);
  expect(openMemory({ dataDir, machine: 'first' }).isOwn('ours')).toBe(true);
});
