/** Reads the first screen: health, freshness, and what needs a person. */
import { sql } from 'kysely';
import { tryParseJson } from '../../lib/json.ts';
import { decimalOf } from '../../lib/money.ts';
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
import { CURRENCY } from './sales.ts';

export interface Need {
  readonly of: WaitingKind;
  readonly what: string;
  /** Whether the deliveries stand in another row too: each rule has those that it holds. */
  readonly isWithin: boolean;
  readonly count: number;
  readonly newestAt: number | null;
  readonly oldestAt: number | null;
  /** Value by currency of the deliveries, of the oldest alone where they are many. */
  readonly worth: readonly Amount[];
  /** Address of the page that lists these things. */
  readonly href: string;
}

export interface Amount {
  readonly currency: string | null;
  /** Null: a price or a quantity is not known. */
  readonly value: number | null;
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

/** Most waiting deliveries whose value is read, the oldest first. */
export const WORTH_ROWS = 2_000;

interface WaitingRow {
  readonly outcome: string;
  readonly rules: string | null;
  readonly packedAt: number | null;
  readonly currency: string | null;
  readonly value: number | null;
}

/** The deliveries that have waited for longest, with what each is worth. */
async function waitingRows(db: Db): Promise<readonly WaitingRow[]> {
  const { rows } = await sql<WaitingRow>`select c.outcome, n.rules, c.packed_at "packedAt",
      ${CURRENCY} currency,
      (select iif(count(*) = count(l.price * l.fulfilled_quantity),
          sum(l.price * l.fulfilled_quantity), null)
        from delivery_line l where l.order_delivery_id = c.order_delivery_id) value
    from (select * from claim where waits = 1 order by packed_at limit ${WORTH_ROWS}) c
    left join decision n on n.decision_id = c.decision_id
    left join sales_order o on o.order_id = c.order_id`.execute(db);
  return rows;
}

function worthOf(rows: readonly WaitingRow[]): Amount[] {
  const byCurrency = Map.groupBy(rows, ({ currency }) => currency);
  const sums = [...byCurrency].map(([currency, of]) => {
    const isKnown = of.every(({ value }) => value !== null);
    const units = of.reduce((sum, { value }) => sum + (value ?? 0), 0);
    return { currency, value: isKnown ? decimalOf(units) : null };
  });
  return sums.toSorted((a, b) => (b.value ?? 0) - (a.value ?? 0));
}

function rulesIn({ rules }: WaitingRow): readonly unknown[] {
  const ids = tryParseJson(rules ?? '[]');
  return Array.isArray(ids) ? ids : [];
}

/** Held deliveries by the rules that hold them. */
async function heldByRule(db: Db, waiting: readonly WaitingRow[]): Promise<Need[]> {
  const { rows } = await sql<{ rule: string; count: number; newest: number | null }>`
    select name rule, rows count, latest_at newest
    from tally where entity = 'held' and rows > 0 order by 2 desc`.execute(db);
  return rows.map(({ rule, count, newest }) => {
    const own = waiting.filter((row) => row.outcome === 'hold' && rulesIn(row).includes(rule));
    return {
      of: 'deliveries',
      what: rule,
      isWithin: true,
      count: Number(count),
      newestAt: newest,
      oldestAt: own[0]?.packedAt ?? null,
      worth: worthOf(own),
      href: `/review?${new URLSearchParams({ rule })}`,
    };
  });
}

const PLACES: Readonly<Record<WaitingKind, string>> = {
  deliveries: '/review',
  documents: '/outbox?waiting=1',
  runs: '/pulls',
  incidents: '/incidents',
};

/** Address of the page that lists a part of what waits. */
function placeOf(kind: WaitingKind, what: string): string {
  if (kind === 'runs') return `/pulls/${encodeURIComponent(what)}`;
  if (kind === 'documents') {
    const [document = ''] = what.split('/');
    return `/outbox?${new URLSearchParams({ kind: document, waiting: '1' })}`;
  }
  if (kind === 'incidents') return `/incidents?${new URLSearchParams({ kind: what })}`;
  if (what === 'hold') return '/review?shown=held';
  return what === 'no_rule' ? '/review?shown=uncovered' : PLACES[kind];
}

function needsOf(
  waiting: Waiting,
  byRule: readonly Need[],
  deliveries: readonly WaitingRow[],
): Need[] {
  return WAITING_KINDS.flatMap((kind) =>
    waiting[kind].parts.flatMap(({ what, count, newestAt, oldestAt }) => {
      const own = deliveries.filter(({ outcome }) => kind === 'deliveries' && outcome === what);
      const at = { newestAt, oldestAt, worth: worthOf(own) };
      const words = describePart(kind, what);
      const href = placeOf(kind, what);
      const need = { of: kind, what: words, isWithin: false, count, ...at, href };
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
  const deliveries = await waitingRows(db);
  return {
    status,
    checks: checksOf(status, settings, now),
    held: heldOf(status.waiting),
    underWay: await underWayOf(db),
    unknownOutcomes: status.outbox.in_doubt ?? 0,
    needs: needsOf(status.waiting, await heldByRule(db, deliveries), deliveries),
  };
}
