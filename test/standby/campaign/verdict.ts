/** Judges a seed by the book of the service, the holder's database, and the wires. */
import Database from 'better-sqlite3';
import { verifyChain } from '../../../src/decisions/journal.ts';
import { openReadOnlyStore } from '../../../src/store/store.ts';
import type { Load } from './load.ts';
import { lateSends } from './wire.ts';
import { LEASE_SCHEMA, type Wired, type World } from './world.ts';

export interface Verdict {
  readonly doubled: readonly string[];
  readonly lost: readonly string[];
  readonly late: readonly string[];
  readonly wrong: readonly string[];
  /** Orders that wait for a person. */
  readonly people: readonly string[];
  /** Documents and acts that went with a server that had confirmed it alone. */
  readonly gone: readonly string[];
}

export function countOf({ reference }: World, name: string): number {
  return reference.world.book.orders.all.filter((order) => order.reference === name).length;
}

function listOf(path: string, query: string, ...values: readonly string[]): Set<string> {
  const database = new Database(path, { readonly: true });
  try {
    return new Set(
      database
        .prepare<unknown[], string>(query)
        .pluck()
        .all(...values),
    );
  } finally {
    database.close();
  }
}

const databaseOf = ({ dataDir }: Wired): string => `${dataDir}/mirror.db`;

/** References of orders that a person has to look at. */
export const leftToPeople = (holder: Wired): Set<string> =>
  listOf(
    databaseOf(holder),
    `select reference from outbox where blocked_reason is not null or state = 'dead'
       or exists (select 1 from pause
         where target = 'pushes' and name = '' and actor <> 'standby')`,
  );

/** Why they wait for one. */
const whyLeft = (holder: Wired): Set<string> =>
  listOf(
    databaseOf(holder),
    `select 'paused: ' || reason from pause
       where target = 'pushes' and name = '' and actor <> 'standby'
     union select coalesce(blocked_reason, last_error) from outbox
       where blocked_reason is not null or state = 'dead'`,
  );

/** References of all orders that it knows. */
export const knownTo = (holder: Wired): Set<string> =>
  listOf(databaseOf(holder), 'select reference from outbox');

/** Takings that wrote after another one had begun to. */
async function unfenced({ cluster }: World, from: number): Promise<string[]> {
  const rows = await cluster.ask<{ taking: string; last: string; next: string }>(
    `select * from (select taking, last, lead(first) over (order by first) as next from (
       select taking, min(place) as first, max(place) as last
       from ${LEASE_SCHEMA}.standby_record where place > ${from} group by taking) as takings)
     as followed where last > next`,
  );
  return rows.map(({ taking }) => `${taking} wrote after its end`);
}

async function brokenAt(holder: Wired): Promise<readonly string[]> {
  const store = await openReadOnlyStore({ path: databaseOf(holder), busyTimeoutMs: 5_000 });
  try {
    const { brokenAt: id } = await verifyChain(store.db);
    return id === undefined ? [] : [`the chain of decisions breaks at ${id}`];
  } finally {
    await store.close();
  }
}

export interface Judged {
  readonly world: World;
  readonly load: Load;
  readonly holder: Wired;
  /** Last place of the record when the seed began. */
  readonly from: number;
  /** Whether a server was promoted that had confirmed nothing. */
  readonly mayLose: boolean;
}

export async function judge({ world, load, holder, from, mayLose }: Judged): Promise<Verdict> {
  const path = databaseOf(holder);
  const people = leftToPeople(holder);
  const ours = new Set(load.submitted);
  const known = knownTo(holder);
  const events = listOf(path, 'select event_id from webhook_event');
  const acts = listOf(path, 'select reason from audit');
  const decided = listOf(
    path,
    "select cast(order_id as text) from decision where outcome = 'accept'",
  );
  const { deliveries } = world.reference.world.book;
  const lost = [
    ...load.receipts
      .filter((name) => !known.has(name) || (countOf(world, name) === 0 && !people.has(name)))
      .map((name) => `order ${name}`),
    ...load.events.filter((id) => !events.has(id)).map((id) => `event ${id}`),
    ...load.acts.filter((reason) => !acts.has(reason)).map((reason) => `act ${reason}`),
  ];
  const undecided = load.packed.flatMap((orderId) =>
    deliveries.ofOrder(orderId).some(({ status }) => status === 'accepted') &&
    !decided.has(String(orderId))
      ? [`order ${orderId} was accepted, and its decision is not there`]
      : [],
  );
  return {
    doubled: load.submitted.filter((name) => countOf(world, name) > 1),
    lost: mayLose ? [] : lost,
    late: lateSends(world.journal, (name) => ours.has(name)),
    wrong: [
      ...load.odd,
      ...(mayLose ? [] : [...undecided, ...(await unfenced(world, from))]),
      ...(await brokenAt(holder)),
      ...world.machines.flatMap(({ name, failures }) => failures().map((one) => `${name}: ${one}`)),
    ],
    people: [...people].some((name) => ours.has(name))
      ? [...people, ...whyLeft(holder)].filter((name) => ours.has(name) || name.includes(' '))
      : [],
    gone: mayLose ? [...lost, ...undecided] : [],
  };
}
