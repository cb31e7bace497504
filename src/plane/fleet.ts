/** Every account of the plane at a glance, read from the plane alone: no cell is asked. */
import { formatDuration } from '../lib/units.ts';
import { type Cursor, readCursors } from './cursor.ts';
import type { PlaneClient } from './postgres.ts';
import { copyLagMs } from './status.ts';

export interface FleetAccount {
  readonly account: string;
  /** `late`: nothing is known of now; `look`: a person is needed; `stale`: data is old. */
  readonly health: 'ok' | 'look' | 'stale' | 'late';
  /** Why, in a few words each. */
  readonly why: readonly string[];
  /** Null: the copy has never been whole. */
  readonly lagMs: number | null;
  /** Age of the last complete run of each stream that is pulled; null: none was. */
  readonly ageMs: Readonly<Record<string, number | null>>;
  readonly pending: number;
  /** Pending deliveries that wait for a person, as `claim.waits` says in each cell. */
  readonly waiting: number;
  /** Pushes that have not ended, by state, and `dead`. */
  readonly outbox: Readonly<Record<string, number>>;
  readonly incidents: number;
  readonly paused: readonly string[];
}

const COUNTS = {
  pending: `select account, '' AS name, count(*)::text AS n from delivery
    where status = 'pending' and deleted_at is null group by 1`,
  waiting: `select d.account, '' AS name, count(*)::text AS n from delivery d
    join evaluation e on e.account = d.account and e.order_delivery_id = d.order_delivery_id
    join decision n on n.account = e.account and n.decision_id = e.decision_id
    where d.status = 'pending' and d.deleted_at is null and (n.outcome not in ('accept', 'reject')
      or n.actor = 'daemon' and n.mode <> 'live') group by 1`,
  outbox: `select account, state AS name, count(*)::text AS n from outbox
    where ended_at is null or state = 'dead' group by 1, 2 order by 1, 2`,
  incidents: `select account, '' AS name, count(*)::text AS n from incident
    where resolved_at is null group by 1`,
  paused: `select account, rtrim(target || ' ' || name) AS name, '1' AS n from pause order by 1, 2`,
  complete: `select account, stream AS name, complete_at::text AS n from stream_state
    order by 1, 2`,
} as const;

type Kind = keyof typeof COUNTS;
type Named = ReadonlyMap<string, number | null>;

async function readCounts(client: PlaneClient) {
  const found = new Map<string, Map<string, number | null>>();
  for (const [kind, text] of Object.entries(COUNTS)) {
    const { rows } = await client.query(text);
    for (const { account, name, n } of rows) {
      const at = `${kind} ${account}`;
      const named = found.get(at) ?? new Map();
      found.set(at, named.set(String(name), n === null ? null : Number(n)));
    }
  }
  const none: Named = new Map();
  return (kind: Kind, account: string): Named => found.get(`${kind} ${account}`) ?? none;
}

function reasonsOf(found: Omit<FleetAccount, 'health' | 'why'>): readonly string[] {
  const { in_doubt: inDoubt = 0, dead = 0 } = found.outbox;
  return [
    ...(dead > 0 ? [`${dead} pushes given up`] : []),
    ...(inDoubt > 0 ? [`${inDoubt} in doubt`] : []),
    ...(found.incidents > 0 ? [`${found.incidents} incidents`] : []),
    ...found.paused.map((target) => `paused: ${target}`),
  ];
}

/** Streams that are older than the account's configuration allows, as `selvedge status` has it. */
function staleStreams(
  ages: FleetAccount['ageMs'],
  { freshness }: Pick<Cursor, 'freshness'>,
): readonly string[] {
  return Object.entries(ages).flatMap(([name, ageMs]) => {
    if (ageMs === null) return [`${name} was never complete`];
    return ageMs > (freshness[name] ?? Infinity) ? [`${name} is ${formatDuration(ageMs)} old`] : [];
  });
}

/** @param lateMs from when on a copy is late (`plane.lagWarning`). */
export async function readFleet(
  client: PlaneClient,
  now: number,
  lateMs: number,
): Promise<readonly FleetAccount[]> {
  const cursors = await readCursors(client);
  const counted = await readCounts(client);
  return cursors.map((cursor) => {
    const { account } = cursor;
    const one = (kind: Kind): number => counted(kind, account).get('') ?? 0;
    const lagMs = copyLagMs(cursor, now) ?? null;
    const complete = [...counted('complete', account)];
    const pulled = complete.filter(([name]) => cursor.freshness[name] !== undefined);
    const found = {
      account,
      lagMs,
      ageMs: Object.fromEntries(pulled.map(([name, at]) => [name, at === null ? null : now - at])),
      pending: one('pending'),
      waiting: one('waiting'),
      outbox: Object.fromEntries([...counted('outbox', account)].map(([k, n]) => [k, n ?? 0])),
      incidents: one('incidents'),
      paused: [...counted('paused', account).keys()],
    };
    const why = reasonsOf(found);
    if (lagMs === null || lagMs > lateMs) {
      return { ...found, health: 'late', why: ['the copy is late', ...why] };
    }
    const stale = staleStreams(found.ageMs, cursor);
    if (stale.length > 0) return { ...found, health: 'stale', why: [...stale, ...why] };
    return { ...found, health: why.length > 0 ? 'look' : 'ok', why };
  });
}
