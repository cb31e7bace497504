/** How the service misbehaves while documents go through it, in every size of campaign. */
import type { Random } from '../../../src/lib/random.ts';

const CREATING = ['*/orders', '*/pending-refunds'];

/** A third of the seeds are spared each fault, so that faults also meet alone. */
function share(random: Random, most: number): number {
  return random.chance(1 / 3) ? 0 : random.next() * most;
}

export interface Trouble {
  /** Longer than the daemon waits for an answer. */
  readonly stall: string;
  /** In seconds. */
  readonly lateCommit: { readonly least: number; readonly most: number };
  /** In seconds. */
  readonly listingLagMax: number;
}

function faultsOf(random: Random, { stall }: Trouble): Record<string, unknown>[] {
  const kinds = [
    { kind: 'reset', moment: 'before' },
    { kind: 'reset', moment: 'after' },
    { kind: 'serverError', moment: 'before', status: 502 },
    { kind: 'serverError', moment: 'after', status: 502 },
    { kind: 'serverError', moment: 'after', status: 500, body: 'json' },
    { kind: 'latency', moment: 'before', delay: stall },
    { kind: 'latency', moment: 'after', delay: stall },
    { kind: 'truncated', contentLength: 'wrong' },
    { kind: 'tooMany', retryAfter: 1 },
    { kind: 'unauthorized' },
  ];
  const writes = kinds.flatMap((fault) => {
    const probability = share(random, 0.05);
    return CREATING.map((path) => ({
      ...{ ...fault, path, method: 'POST', probability },
      seed: random.int(1, 1_000_000),
    }));
  });
  const reads = ['reset', 'serverError', 'truncated'].map((kind) => ({
    ...{ kind, method: 'GET', path: '*', probability: share(random, 0.03) },
    seed: random.int(1, 1_000_000),
  }));
  return [...writes, ...reads];
}

/** Knobs of the reference service, drawn from chance. */
export function troubleKnobs(random: Random, trouble: Trouble) {
  const { lateCommit, listingLagMax } = trouble;
  return {
    orders: {
      lateCommitShare: share(random, 0.05),
      lateCommitAfter: `${random.int(lateCommit.least, lateCommit.most)}s`,
      listingLag: `${random.chance(0.5) ? 0 : random.int(1, listingLagMax)}s`,
    },
    faults: faultsOf(random, trouble),
  };
}
