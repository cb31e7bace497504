/** A database with something of each kind that waits for a person, and what only looks like it. */
import { sql } from 'kysely';
import { reportEvaluationError, reportRevokedTooOften } from '../../src/decisions/incidents.ts';
import { createReview } from '../../src/decisions/review/review.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { openIncident } from '../../src/store/incidents.ts';
import { createDeciderFixture, type DeciderFixture, loadedRules } from '../decisions/support.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Monday, 10:00 in Copenhagen. */
const START = Date.UTC(2026, 0, 5, 9);

/** Barcodes choose what becomes of a delivery. */
const of = (barcode: string) => `delivery.lines.exists(line, line.barcode == "${barcode}")`;
export const RULES = `
rules:
  - { id: one, title: One, action: hold, mode: live, when: [ '${of('held')}' ] }
  - { id: two, title: Two, action: hold, mode: live, when: [ '${of('held')}' ] }
  - { id: brief, title: Brief, action: hold, mode: live, hold: { at_most: 1h, then: escalate },
      when: [ '${of('overdue')}' ] }
  - { id: all, title: All, action: accept, mode: live, when: [ '${of('ready')}' ] }
`;

/** Each delivery, and what it is for. */
const DELIVERIES = {
  heldByTwo: [1, 'held'],
  ruleless: [2, 'ruleless'],
  overdue: [3, 'overdue'],
  released: [4, 'held'],
  observed: [5, 'ready'],
  heldWithIncident: [6, 'held'],
  heldWithDeadPush: [7, 'held'],
  refused: [8, 'ready'],
  inDoubt: [9, 'ready'],
  onItsWay: [10, 'ready'],
  undecidable: [11, 'ready'],
  settling: [12, 'ready'],
} as const;
type Name = keyof typeof DELIVERIES;

/** What each place must show of this world. */
export const EXPECTED = {
  deliveries: 8,
  documents: 8,
  runs: 2,
  incidents: 2,
  total: 20,
} as const;

async function pack(world: DeciderFixture, ...names: readonly Name[]): Promise<void> {
  for (const name of names) {
    const [id, barcode] = DELIVERIES[name];
    await world.delivery({ id, order: id, lines: [[barcode, 2]] });
  }
}

async function deliveries(world: DeciderFixture): Promise<void> {
  const { store, clock } = world;
  const rules = () => loadedRules(RULES);
  await pack(world, 'overdue', 'heldByTwo', 'ruleless', 'released', 'heldWithIncident');
  await pack(world, 'heldWithDeadPush', 'refused', 'inDoubt', 'onItsWay');
  await world.decide({ rules });
  await clock.advance(2 * HOUR_MS);
  await world.decide({ rules });
  // What has left stays on its way while the rules only observe.
  await sql`update outbox set state = 'sending' where state = 'queued'`.execute(store.db);
  await pack(world, 'observed');
  await world.decide({ rules, mode: 'observe' });
  const nothing = () => undefined;
  const review = createReview({ store, clock, rules, onPush: nothing, onReviewed: nothing });
  await review.act({ actor: 'ada', reason: 'asked', action: 'release', delivery: '4' });
  await pack(world, 'undecidable', 'settling');
  await reportEvaluationError(store.db, 11, new Error('a loop'), clock.now());
  await store.transaction((tx) => reportRevokedTooOften(tx, 6, {}, clock.now()));
}

interface Push {
  readonly kind?: 'order' | 'pending_refund' | 'delivery_status';
  readonly state: string;
  readonly delivery?: number;
  readonly ended?: boolean;
  readonly blocked?: string;
}

async function push({ store, clock }: DeciderFixture, reference: string, row: Push) {
  const { kind = 'order', state, delivery = null, ended = false, blocked = null } = row;
  const now = clock.now();
  const { rows } = await sql<{ readonly id: number }>`insert into outbox (kind, ordering_key,
      reference, body, body_hash, state, due_at, in_doubt_since, created_at, ended_at, cause,
      blocked_reason, order_delivery_id)
    values (${kind}, ${reference}, ${reference}, '{}', '', 'queued', ${now},
      ${state === 'in_doubt' ? now : null}, ${now}, null, '', ${blocked}, ${delivery})
    returning outbox_id id`.execute(store.db);
  const id = rows[0]?.id ?? 0;
  await sql`update outbox set state = ${state}, ended_at = ${ended ? now : null}
    where outbox_id = ${id}`.execute(store.db);
  return id;
}

async function documents(world: DeciderFixture): Promise<void> {
  const { store, clock } = world;
  const told = (kind: string, id: number) => {
    const about = { kind, entity: 'outbox', key: String(id) };
    return openIncident(store.db, { ...about, detail: {} }, clock.now());
  };
  const doubtful = await push(world, 'PO-1', { state: 'in_doubt', blocked: 'two orders fit' });
  // For two reasons, and in two incidents: it is one document.
  await told('push_in_doubt', doubtful);
  await told('push_late', doubtful);
  await push(world, 'PO-2', { state: 'refused', ended: true });
  const dead = await push(world, 'R-1', { kind: 'pending_refund', state: 'dead', ended: true });
  await told('push_dead', dead);
  const late = await push(world, 'PO-3', { state: 'queued' });
  await told('push_late', late);
  await told('push_differs', await push(world, 'PO-4', { state: 'confirmed', ended: true }));
  const lost = await push(world, 'PO-5', { state: 'confirmed', ended: true });
  await sql`insert into outbox_lost (outbox_id, order_id, since, read_seq)
    values (${lost}, 5, ${clock.now()}, 1)`.execute(store.db);
  await openIncident(
    store.db,
    { kind: 'service_put_back', entity: 'account', key: 'service', detail: {} },
    clock.now(),
  );
  // What is done, or was corrected since, or belongs to a delivery that waits itself.
  await push(world, 'PO-6', { state: 'confirmed', ended: true });
  await push(world, 'PO-7', { state: 'canceled', ended: true });
  const corrected = await push(world, 'PO-8', { state: 'refused', ended: true });
  await sql`update outbox set state = 'queued', ended_at = null
    where outbox_id = ${corrected}`.execute(store.db);
  const former = { kind: 'delivery_status', state: 'dead', delivery: 7, ended: true } as const;
  await told('push_dead', await push(world, 'delivery/7/decision/0', former));
  await sql`update outbox set state = 'refused', ended_at = ${clock.now()}
    where order_delivery_id = 8`.execute(store.db);
  await sql`update outbox set state = 'in_doubt', in_doubt_since = ${clock.now()}
    where order_delivery_id = 9`.execute(store.db);
}

async function runs({ store, clock }: DeciderFixture): Promise<void> {
  const at = clock.now();
  for (const stream of ['stock', 'season', 'orders']) {
    await sql`insert into stream_state (stream, due_at) values (${stream}, 0)
      on conflict do nothing`.execute(store.db);
  }
  const run = (stream: string, outcome: string) =>
    sql`insert into sync_run (stream, cause, started_at, ended_at, read_seq, options, checkpoint,
      outcome) values (${stream}, '', ${at}, ${at}, 1, '', '', ${outcome})`.execute(store.db);
  const told = (kind: string, entity: string, key: string, detail: object = {}) =>
    openIncident(store.db, { kind, entity, key, detail }, at);
  // Whoever releases the newest is done with those before; a complete one ends it as well.
  for (const outcome of ['suspicious', 'suspicious']) await run('stock', outcome);
  for (const outcome of ['suspicious', 'complete']) await run('orders', outcome);
  await told('never_complete', 'stream', 'stock');
  await told('mass_change', 'sync_run', '99', { stream: 'season' });
}

async function incidents({ store, clock }: DeciderFixture): Promise<void> {
  const told = (kind: string, entity: string, key: string, detail: object = {}) =>
    openIncident(store.db, { kind, entity, key, detail }, clock.now());
  await told('secret_ends', 'listener', 'secrets', { says: 'the last secret ends soon' });
  await told('never_complete', 'stream', 'season');
  // About deliveries that are held, or for nobody to do.
  await told('accepts_wait', 'stream', 'stock', { says: '2 deliveries wait', rows: 2 });
  await told('accepts_paused', 'rules', 'accept');
}

/** The world, on a clock of its own; `before` is told when nothing waits yet. */
export async function waitingWorld(
  before: (world: DeciderFixture) => Promise<void>,
): Promise<DeciderFixture> {
  const world = await createDeciderFixture(manualClock(START));
  await before(world);
  await world.clock.advance(MINUTE_MS);
  await deliveries(world);
  await documents(world);
  await runs(world);
  await incidents(world);
  return world;
}
