/** Reads the first screen: health, freshness, and what needs a person. */
import { sql } from 'kysely';
import { type Check, checksOf } from '../../ops/health-grade.ts';
import {
  type Installation,
  type InstallationSettings,
  readInstallation,
} from '../../ops/installation.ts';
import {
  describePart,
  heldOf,
  WAITING_KINDS,
  type Waiting,
  type WaitingKind,
} from '../../ops/waiting.ts';
import type { Db } from '../../store/store.ts';

export interface Need {
  readonly of: WaitingKind;
  readonly what: string;
  /** Whether the deliveries stand in another row too: each rule has those that it holds. */
  readonly isWithin: boolean;
  readonly count: number;
  readonly newestAt: number | null;
  /** Address of the page that lists these things. */
  readonly href: string;
}

export interface OverviewData {
  readonly status: Installation;
  /** Everything that is not fine, which colours the tiles. */
  readonly checks: readonly Check[];
  readonly held: { readonly count: number; readonly oldestAt: number | null };
  readonly underWay: { readonly count: number; readonly oldestAt: number | null };
  readonly unknownOutcomes: number;
  readonly needs: readonly Need[];
}

interface Counted {
  readonly count: number;
  readonly oldest: number | null;
}

async function underWayOf(db: Db) {
  const { rows } = await sql<Counted>`select count(*) count, min(created_at) oldest
    from outbox where ended_at is null`.execute(db);
  return { count: Number(rows[0]?.count ?? 0), oldestAt: rows[0]?.oldest ?? null };
}

/** Held deliveries by the rules that hold them. */
async function heldByRule(db: Db): Promise<Need[]> {
  const { rows } = await sql<{ rule: string; count: number; newest: number | null }>`
    select name rule, rows count, latest_at newest
    from tally where entity = 'held' and rows > 0 order by 3 desc`.execute(db);
  return rows.map(({ rule, count, newest }) => ({
    of: 'deliveries',
    what: rule,
    isWithin: true,
    count: Number(count),
    newestAt: newest,
    href: `/review?${new URLSearchParams({ rule })}`,
  }));
}

const PLACES: Readonly<Record<WaitingKind, string>> = {
  deliveries: '/review',
  documents: '/outbox?waiting=1',
  runs: '/pulls',
  incidents: '/#incidents',
};

/** Address of the page that lists a part of what waits. */
function placeOf(kind: WaitingKind, what: string): string {
  if (kind === 'runs') return `/pulls/${encodeURIComponent(what)}`;
  if (kind === 'documents') {
    const [document = ''] = what.split('/');
    return `/outbox?${new URLSearchParams({ kind: document, waiting: '1' })}`;
  }
  if (what === 'hold') return '/review?shown=held';
  return what === 'no_rule' ? '/review?shown=uncovered' : PLACES[kind];
}

function needsOf(waiting: Waiting, byRule: readonly Need[]): Need[] {
  return WAITING_KINDS.flatMap((kind) =>
    waiting[kind].parts.flatMap(({ what, count, newestAt }) => {
      const words = describePart(kind, what);
      const href = placeOf(kind, what);
      const need = { of: kind, what: words, isWithin: false, count, newestAt, href };
      return kind === 'deliveries' && what === 'hold' ? [need, ...byRule] : [need];
    }),
  );
}

export async function readOverview(
  db: Db,
  now: number,
  settings: InstallationSettings,
): Promise<OverviewData> {
  const status = await readInstallation(db, settings, now);
  return {
    status,
    checks: checksOf(status, settings, now),
    held: heldOf(status.waiting),
    underWay: await underWayOf(db),
    unknownOutcomes: status.outbox.in_doubt ?? 0,
    needs: needsOf(status.waiting, await heldByRule(db)),
  };
}
