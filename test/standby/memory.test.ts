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
  writeFileSync(join(folder, 'standby.json'), '{"timeline":');
  expect(() => openMemory(folder)).toThrow(/cannot be understood/);
});
