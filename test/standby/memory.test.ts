import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openMemory } from '../../src/standby/memory.ts';
import { temporaryFolder } from '../support/store.ts';

it('the memory of a data folder keeps its takings and the highest timeline', () => {
  const folder = temporaryFolder();
  const memory = openMemory(folder);
  expect([memory.hasHeld(), memory.highest()]).toEqual([false, 0]);
  memory.note('first');
  memory.note('second');
  memory.saw(3);
  const again = openMemory(folder);
  expect([again.isOwn('first'), again.isOwn('second'), again.isOwn('other')]).toEqual([
    true,
    true,
    false,
  ]);
  expect([again.hasHeld(), again.highest()]).toEqual([true, 3]);
  const proof = { isHandedOver: true, isProven: true, isAgain: false };
  again.note('third', proof);
  const third = openMemory(folder);
  expect(third.proofOf('third')).toMatchObject(proof);
  expect(third.proofOf('second')).toBeUndefined();
  // A daemon's taking is no take-over, and what cannot be read proves nothing.
  third.note('fourth');
  expect(openMemory(folder).proofOf('third')).toBeUndefined();
  const odd = { takings: ['third'], proof: { taking: 'third', isHandedOver: 'yes' } };
  writeFileSync(join(folder, 'standby.json'), JSON.stringify(odd));
  expect([openMemory(folder).isOwn('third'), openMemory(folder).proofOf('third')]).toEqual([
    true,
    undefined,
  ]);
  writeFileSync(join(folder, 'standby.json'), '{"timeline":');
  expect(() => openMemory(folder)).toThrow(/cannot be understood/);
});
