import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Transport } from '../../src/client/transport.ts';
import type { Variant } from '../../src/client/v1/schemas.ts';
import { variantsOf } from '../../src/client/v1/variant-rows.ts';
import type { PullPlace } from '../../src/client/v1/variants.ts';
import { RetryLaterError } from '../../src/lib/errors.ts';
import { type Rig, startRig } from '../reference/support.ts';
import { impatient } from './support.ts';
import { readAll, v1Client } from './v1-support.ts';

const SEEDS = 12;

/** A pull that needs more runs than this makes no progress. */
const RUNS_MAX = 200;

const FAULTS = [
  { kind: 'tooMany', retryAfter: 0 },
  { kind: 'serverError' },
  { kind: 'unauthorized' },
  { kind: 'reset' },
  { kind: 'reset', moment: 'after' },
  { kind: 'truncated', bytes: 5_000 },
  { kind: 'truncated', bytes: 20_000, contentLength: 'wrong' },
  { kind: 'malformed' },
  { kind: 'nullList' },
] as const;

describe('V1 variant lists under faults', () => {
  let rig: Rig;
  let transport: Transport;
  beforeEach(async () => {
    rig = await startRig({ auth: { loginSpacing: '0s' } });
    transport = impatient({ retryWaitsMs: [0] });
  });
  afterEach(async () => {
    await transport[Symbol.asyncDispose]();
    await rig.reference.close();
  });

  it.each([
    ['stream', { mode: 'stream', batchRows: 16 }],
    ['pages', { mode: 'pages', pageRows: 20, batchRows: 40 }],
  ] as const)(
    'a %s pull that goes on where it stood ends with every row, once',
    async (_n, how) => {
      const client = v1Client(rig, transport, how);
      const truth = (await readAll(client.stock({ detailed: true }))).variants;
      for (let seed = 1; seed <= SEEDS; seed += 1) {
        const faults = FAULTS.map((fault, index) => ({
          ...fault,
          path: '*/variants/stock*',
          probability: 0.06,
          seed: seed * 100 + index,
        }));
        rig.reference.knobs.patch({ faults });
        const rows: Variant[] = [];
        let from: PullPlace | undefined;
        let runs = 0;
        for (let done = false; !done && runs < RUNS_MAX; runs += 1) {
          const pull = client.stock({ detailed: true }, { from });
          try {
            for await (const batch of pull.batches) {
              for (const { start, end } of batch.chunks) {
                rows.push(...variantsOf(batch.bytes.subarray(start, end)).rows);
              }
              from = batch.next;
            }
            done = pull.end().rows === pull.end().count;
          } catch (error) {
            expect(error).toBeInstanceOf(RetryLaterError);
          }
        }
        expect(runs, `seed ${seed}`).toBeLessThan(RUNS_MAX);
        expect(rows, `seed ${seed}`).toEqual(truth);
      }
      expect(transport.stats().retries).toBeGreaterThan(0);
      expect(transport.limiter.active()).toBe(0);
    },
  );
});
