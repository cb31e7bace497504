/**
 * Starts the longest test files first, so that no worker ends with one of them while the others
 * have nothing to do. Vitest knows from earlier runs how long each takes; in a fresh clone it goes
 * by their size, and the longest are often short files over a large world.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { SLOWEST } from './slowest.ts';

/** Place in {@link SLOWEST}; Infinity for all others. */
function rankOf({ moduleId }: TestSpecification): number {
  const at = SLOWEST.findIndex((file) => moduleId.endsWith(`/${file}`));
  return at < 0 ? Infinity : at;
}

export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const named = sorted.filter((file) => rankOf(file) < Infinity);
    const others = sorted.filter((file) => rankOf(file) === Infinity);
    return [...named.sort((a, b) => rankOf(a) - rankOf(b)), ...others];
  }
}
