/** Reads the first screen: health, freshness, and what needs a person. */
import { sql } from 'kysely';
import { OUTBOX_KINDS } from '../../config/schema.ts';
import { type Check, checksOf } from '../../ops/health-grade.ts';
import {
  type Installation,
  type InstallationSettings,
  readInstallation,
} from '../../ops/installation.ts';
import type { Db } from '../../store/store.ts';

interface Need {
  readonly what: string;
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

async function heldOf(db: Db) {
  const { rows } = await sql<Counted>`select rows count, (
      select min(packed_at) from claim where outcome = 'hold') oldest
    from tally where entity = 'pending' and name = 'hold'`.execute(db);
  return { count: Number(rows[0]?.count ?? 0), oldestAt: rows[0]?.oldest ?? null };
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
    what: rule,
    count: Number(count),
    newestAt: newest,
    href: `/review?${new URLSearchParams({ rule })}`,
  }));
}

async function attentionByKind(db: Db): Promise<Need[]> {
  const { rows } = await sql<{ kind: string; state: string; count: number; newest: number }>`
    select kind, state, count(*) count, max(created_at) newest from (
      select kind, state, created_at from outbox
      where blocked_reason is not null and state <> 'dead'
      union all select kind, state, created_at from outbox
      where state = 'dead' and kind in (${sql.join(OUTBOX_KINDS)})
    ) group by 1, 2 order by 4 desc`.execute(db);
  return rows.map(({ kind, state, count, newest }) => ({
    what: `${kind} ${state === 'in_doubt' ? 'with an unknown outcome' : state}`,
    count: Number(count),
    newestAt: newest,
    href: `/outbox?${new URLSearchParams({ kind, attention: '1' })}`,
  }));
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
    held: await heldOf(db),
    underWay: await underWayOf(db),
    unknownOutcomes: status.outbox.in_doubt ?? 0,
    needs: [...(await heldByRule(db)), ...(await attentionByKind(db))],
  };
}
