/** Proof that a take-over has of the row that it takes, and when it may take that. */
import { describe, expect, it } from 'vitest';
import { openMemory, type Proof } from '../../src/standby/memory.ts';
import { proofOf } from '../../src/standby/take-over/take-over.ts';
import { mayTake } from '../../src/standby/take-over/waiting.ts';
import { temporaryFolder } from '../support/store.ts';
import { settingsFor } from './support.ts';

const seen = { taking: 'theirs', handedOver: true };

describe('the proof of a take-over', () => {
  it('is that of the row, where the server has all', () => {
    const memory = openMemory(settingsFor([]));
    for (const isProven of [true, false]) {
      const proof = { isHandedOver: isProven, isProven, isAgain: false };
      expect(proofOf(seen, isProven, memory)).toEqual(proof);
    }
  });

  it('outlives a process that was killed, and nothing more than that', () => {
    const folder = temporaryFolder();
    const proof: Proof = { isHandedOver: true, isProven: true, isAgain: false };
    openMemory({ dataDir: folder, machine: 'here' }).note('ours', proof);
    const memory = openMemory({ dataDir: folder, machine: 'here' });
    const ours = { ...seen, taking: 'ours', handedOver: false };
    expect(proofOf(ours, true, memory)).toEqual({ ...proof, isAgain: true });
    // Since it was taken, PostgreSQL has failed over to a server that may lack what was read.
    const doubted = { isHandedOver: false, isProven: false, isAgain: true };
    expect(proofOf(ours, false, memory)).toEqual(doubted);
    // The daemon took it again: from then on it may have sent.
    memory.note('daemon');
    expect(proofOf({ ...ours, taking: 'daemon' }, true, memory)).toEqual(doubted);
  });
});

describe('a machine that waits', () => {
  const settings = { leaseMs: 15_000, renewMs: 5_000, machine: 'here' };
  const isFree = { quietMs: 0, isFree: true };

  it('leaves a lease that was handed to another one, until nobody takes it', () => {
    const memory = openMemory(settingsFor([]));
    const deps = { memory, settings };
    for (const [wantedBy, quietMs, may] of [
      [null, 0, true],
      ['here', 0, true],
      ['there', 19_999, false],
      ['there', 20_000, true],
    ] as const) {
      expect(mayTake({ taking: 'theirs', wantedBy }, { quietMs, isFree: true }, deps)).toBe(may);
    }
    const held = { quietMs: 0, isFree: false };
    expect(mayTake({ taking: 'theirs', wantedBy: 'here' }, held, deps)).toBe(false);
  });

  it('resumes its own take-over once, and then lets others come first', () => {
    const memory = openMemory(settingsFor([]));
    const deps = { memory, settings };
    const row = { taking: 'ours', wantedBy: null };
    memory.note('ours', { isHandedOver: false, isProven: true, isAgain: false });
    expect(mayTake(row, { ...isFree, isFree: false }, deps)).toBe(true);
    memory.note('ours', { isHandedOver: false, isProven: true, isAgain: true });
    expect(mayTake(row, { quietMs: 39_999, isFree: true }, deps)).toBe(false);
    expect(mayTake(row, { quietMs: 40_000, isFree: true }, deps)).toBe(true);
  });
});
