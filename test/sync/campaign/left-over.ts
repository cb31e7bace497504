/** Leftovers in this process after a piece of work, which must not grow with each of them. */
import { readdirSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { systemClock } from '../../../src/lib/clock.ts';

/** Sockets that were closed are gone a moment later. */
const SETTLE_MS = 500;
const MEBIBYTE = 1_048_576;
/** Room for code compiled since, and for what the first piece had no use for. */
const GROWTH_MIB_MAX = 24;

/** Makes a judge to be asked after each piece of work: a text for each thing it left behind. */
export function createLeftOverJudge(): () => Promise<string[]> {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  let first: { readonly descriptors: number; readonly heapMiB: number } | undefined;
  return async () => {
    await systemClock().sleep(SETTLE_MS);
    collect();
    const descriptors = readdirSync('/proc/self/fd').length;
    const heapMiB = process.memoryUsage().heapUsed / MEBIBYTE;
    first ??= { descriptors, heapMiB };
    const more = descriptors - first.descriptors;
    const grownMiB = heapMiB - first.heapMiB;
    return [
      ...(more > 0 ? [`${more} descriptors are open more than after the first`] : []),
      ...(grownMiB > GROWTH_MIB_MAX ? [`the heap has grown by ${grownMiB.toFixed(0)} MiB`] : []),
    ];
  };
}
