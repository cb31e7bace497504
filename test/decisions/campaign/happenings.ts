/** Events of a seed: at the service, here, at the ERP, to the network, to the daemon. */
import type { Random } from '../../../src/lib/random.ts';
import { drawOrder } from '../../../src/reference/life/arrivals.ts';
import { referencesOf } from '../../../src/reference/world/trade/deps.ts';
import type { Delivery } from '../../../src/reference/world/trade/orders.ts';
import { deliveryShape } from '../../../src/reference/world/trade/shapes.ts';
import type { CalmClock } from './calm-clock.ts';
import { ACCOUNTS, type CampaignFixture, Exchange } from './fixture.ts';
import { REJECTS } from './rules.ts';
import { piecesOf, variantOf } from './shelf.ts';
import type { Act, Truth } from './truth.ts';

export interface Life {
  readonly clock: CalmClock;
  readonly random: Random;
  readonly fixture: CampaignFixture;
  readonly truth: Truth;
  /** Nearly all that is ordered is for the season that is over, and little comes in. */
  readonly isOver: boolean;
}

const REASON = ['--reason', 'agreed'];
const EVER = ['--since', '2026-01-01T00:00:00Z', '--until', '2027-01-01T00:00:00Z'];
/** Older ones have mostly ended. */
const LATEST = 25;

const COMMENTS = ['keep', 'over', '', '', ''];
const OVER = ['keep', 'over', 'over', 'over', ''];

function place({ fixture, truth, random, isOver }: Life): void {
  const { world } = fixture.reference;
  const orderId = world.book.orders.nextId();
  const drawn = drawOrder(world, { seed: 7, orderId, preOrderShare: 0 });
  const most = isOver ? [] : [9, 12, 13, 20, 30, 31, random.int(1, 40)];
  const quantity = random.pick([3, 8, ...most]);
  const variant = random.pick(truth.shelf.variants);
  const goods = { variant, barcode: world.catalog.barcodeOf(variant), quantity };
  const lines = drawn.lines.slice(0, 1).map((line) => ({ ...line, ...goods }));
  world.trade.place({ ...drawn, lines, comment: random.pick(isOver ? OVER : COMMENTS) });
}

function someDelivery({ fixture, random }: Life): Delivery | undefined {
  const open = fixture.reference.world.book.deliveries.all
    .slice(-LATEST)
    .filter(({ status, shippedAt }) => !shippedAt && /^(?:pending|accepted)$/.test(status));
  return open.length === 0 ? undefined : random.pick(open);
}

/** Delivery as people see it here. */
function mirrored({ fixture }: Life, { orderDeliveryId: id }: Delivery) {
  const { db } = fixture.daemon().store;
  return db
    .selectFrom('delivery as d')
    .innerJoin('delivery_line as l', 'l.order_delivery_id', 'd.order_delivery_id')
    .select(['d.status', 'l.fulfilled_quantity as pieces'])
    .where('d.order_delivery_id', '=', id)
    .executeTakeFirst();
}

/** Accepted and put back, sometimes before anybody has looked: then it is as if it had not been. */
async function thinkBetter(life: Life, delivery: Delivery): Promise<void> {
  const { truth, fixture, clock, random } = life;
  const { trade } = fixture.reference.world;
  const { orderDeliveryId: id } = delivery;
  const acts = truth.acts(id);
  const before = acts.length;
  truth.outside(() => trade.moveDelivery(delivery, 'accepted'));
  await clock.runUntil(clock.now() + random.int(0, 20_000));
  const seen = await mirrored(life, delivery);
  truth.outside(() => trade.moveDelivery(delivery, 'pending'));
  if (seen?.status !== 'accepted') acts.splice(before, 2);
}

async function actAtService(life: Life, delivery = someDelivery(life)): Promise<void> {
  const { truth, fixture, random } = life;
  const { trade } = fixture.reference.world;
  if (!delivery) return;
  if (delivery.status === 'pending' && random.chance(0.4)) {
    await thinkBetter(life, delivery);
    return;
  }
  const wanted = random.chance(0.7) ? 'accepted' : 'rejected';
  const to = delivery.status === 'accepted' ? 'pending' : wanted;
  truth.outside(() => trade.moveDelivery(delivery, to));
}

type Words = readonly [action: Act['action'], ...words: string[]];

function wordsFor({ random }: Life, { orderDeliveryId, deliveryNo }: Delivery): Words {
  const id = String(orderDeliveryId);
  const release = ['deliveries', 'release', id, '--why', 'checked'];
  return random.pick<Words>([
    ['accept', 'deliveries', 'accept', id],
    ['reject', 'deliveries', 'reject', id, '--yes-reject', deliveryNo],
    ['hold', 'deliveries', 'hold', id],
    ['hold', 'deliveries', 'hold', '--if-reject-waits', id],
    // Released, but not to the rules, it stays with people.
    ['hold', ...release],
    ['release', ...release, '--to-rules'],
  ]);
}

async function actHere(life: Life, delivery = someDelivery(life)): Promise<void> {
  const { fixture, truth, clock } = life;
  if (!delivery) return;
  const acts = truth.acts(delivery.orderDeliveryId);
  const [action, ...words] = wordsFor(life, delivery);
  // The act may be carried out before its answer is read.
  const asked: Act = { by: 'asked', action, at: clock.now() };
  acts.push(asked);
  const seen = await mirrored(life, delivery);
  const { code } = await fixture.command(...words, ...REASON);
  if (code !== 0) {
    acts.splice(acts.indexOf(asked), 1);
    return;
  }
  acts.push({ by: 'person', action, at: clock.now() });
  // Statements about the former lines say nothing of the new ones.
  if (seen?.pieces !== piecesOf(delivery)) truth.linesChanged(delivery);
}

/** Goods come in or are lost, so that about as much is there as people wait for. */
function restock({ fixture, truth, random, isOver }: Life): void {
  const variant = random.pick(truth.shelf.variants);
  const pieces = truth.shelf.wanted(variant) + random.int(-25, isOver ? 0 : 25);
  fixture.reference.world.stock.set(variant, Math.max(0, pieces));
}

/** Somebody takes pieces out of what is packed, or puts some in; not all of it is told. */
function repack(life: Life, delivery = someDelivery(life)): void {
  const { fixture, truth, random } = life;
  const { book } = fixture.reference.world;
  if (delivery?.status !== 'pending') return;
  const order = book.orders.get(delivery.orderId);
  const [packed] = delivery.lines;
  const line = packed && order?.lines[packed.line];
  if (!line) return;
  const quantity = random.int(1, packed.quantity + line.quantity - line.packed);
  if (quantity === packed.quantity) return;
  truth.pieces(delivery);
  line.packed += quantity - packed.quantity;
  Object.assign(delivery, { lines: [{ ...packed, quantity }] });
  truth.linesChanged(delivery);
  if (random.chance(0.3)) return;
  const data = { salesOrderDelivery: deliveryShape(order, delivery) };
  const { relay, knobs } = fixture.reference;
  const references = referencesOf({ knobs: knobs.current }, order);
  relay.publish('sales_order.delivery_updated', data, references);
}

/** Longer than anybody needs to see that it was moved. */
const SEEN_MS = 40_000;

/** The clock of this machine jumps; next time it is mostly set right. */
async function moveClock({ fixture, truth, clock, random }: Life): Promise<void> {
  const by = random.pick([random.int(1, 20) * 60, random.int(1, 3) * 3_600, -random.int(5, 1_200)]);
  fixture.ahead = fixture.ahead !== 0 && random.chance(0.7) ? 0 : fixture.ahead + by * 1_000;
  truth.ahead.set(clock.now(), fixture.ahead);
  await clock.runUntil(clock.now() + SEEN_MS);
}

function tellCustomers({ fixture, truth, clock, random }: Life): void {
  using db = new Exchange(fixture.folder);
  for (let nth = 0; nth < ACCOUNTS; nth += 1) {
    const { accountNo } = fixture.reference.world.accounts.at(nth);
    const history = truth.blocked(accountNo);
    if (random.chance(0.3)) history.set(clock.now(), !history.now);
    db.put(accountNo, history.now, clock.now());
  }
}

async function arm({ fixture, truth, clock, random, isOver }: Life): Promise<void> {
  const rule = isOver ? 'reject-short' : random.pick(REJECTS);
  await fixture.command('rules', 'matches', rule, '--seen');
  await fixture.command('rules', 'backtest', ...EVER, '--save');
  const history = truth.armed(rule);
  const before = history.now;
  history.set(clock.now(), true);
  const { code } = await fixture.command('rules', 'arm', rule, ...REASON);
  if (code !== 0) history.set(clock.now(), before);
}

async function disarm({ fixture, truth, clock, random }: Life): Promise<void> {
  const rule = random.pick(REJECTS);
  const { code } = await fixture.command('rules', 'disarm', rule, ...REASON);
  if (code === 0) truth.armed(rule).set(clock.now(), false);
}

async function edit({ fixture, truth, clock }: Life): Promise<void> {
  const text = truth.text.now === 'wide' ? 'narrow' : 'wide';
  fixture.write(text);
  truth.text.set(clock.now(), text);
  const { code, said } = await fixture.command('rules', 'reload');
  if (code !== 0) truth.problems.push(`the rules were not loaded: ${said}`);
  truth.disarmAll(clock.now());
}

export async function stopOrResume({ fixture, truth, clock }: Life): Promise<void> {
  const { isStopped } = truth;
  const word = isStopped.now ? 'resume' : 'pause';
  if (word === 'resume') isStopped.set(clock.now(), false);
  const { code, said } = await fixture.command(word, 'decisions', ...REASON);
  if (code !== 0) truth.problems.push(`${word}: ${said}`);
  if (word === 'pause') isStopped.set(clock.now(), true);
}

export function resetBreaker({ fixture }: Life): Promise<unknown> {
  return fixture.command('resume', 'rejects', ...REASON);
}

function trouble({ fixture, random }: Life): void {
  const fault = {
    kind: random.pick(['serverError', 'reset', 'tooMany', 'truncated', 'unauthorized']),
    moment: random.pick(['before', 'after']),
    method: random.pick(['*', 'POST', 'GET']),
    probability: random.pick([0.1, 0.3, 1]),
    path: '/*/orders*',
    lasts: `${random.int(1, 25)}m`,
    seed: random.int(1, 10_000),
  };
  const lost = random.pick([0, 0.3]);
  const webhooks = { lost, duplicated: 0.1, late: 0.2, lateBy: '3m', seed: fault.seed };
  fixture.reference.knobs.patch({ faults: [fault], webhooks });
}

/** The stock comes late, or as nonsense. */
function troubleStock({ fixture, random }: Life): void {
  const kinds = ['serverError', 'reset', 'truncated', 'emptyList', 'nullList', 'repeatedRow'];
  const fault = {
    ...{ kind: random.pick(kinds), probability: random.pick([0.5, 1]), path: '/*/variants*' },
    ...{ lasts: `${random.int(20, 150)}m`, seed: random.int(1, 10_000) },
  };
  fixture.reference.knobs.patch({ faults: [fault] });
}

async function pauseStock({ fixture }: Life): Promise<void> {
  await fixture.command('sync', 'pause', 'stock', ...REASON);
}

async function pullStock({ fixture }: Life): Promise<void> {
  await fixture.command('resume', 'stream', 'stock', ...REASON);
  await fixture.command('sync', 'run', 'stock', ...REASON);
}

export async function endTrouble({ fixture }: Life): Promise<void> {
  fixture.reference.knobs.patch({ faults: [], webhooks: { lost: 0 } });
  await fixture.command('resume', 'stream', 'stock', ...REASON);
}

async function restart({ fixture, truth, clock, random }: Life): Promise<void> {
  await fixture.stop();
  const stoppedAt = clock.now();
  // Setting it forth while nobody watches would shorten the waits.
  if (random.chance(0.5)) fixture.ahead = Math.min(fixture.ahead, 0);
  truth.ahead.set(clock.now(), fixture.ahead);
  await clock.runUntil(clock.now() + random.pick([1, 60, 1_200]) * 1_000);
  await fixture.start();
  truth.reads.lose(stoppedAt, clock.now());
}

const DEAF = { kind: 'serverError', probability: 1, path: '*' };
const CRASH_WITHIN_MS = 600_000;

/** `kill -9` when the service has taken a push and its answer is not read yet, if there is one. */
async function crash({ fixture, truth, clock }: Life): Promise<void> {
  let isFrozen = false;
  let frozenAt = 0;
  const freeze = (): void => {
    if (isFrozen) return;
    isFrozen = true;
    frozenAt = clock.now();
    fixture.freeze();
    // The dead do nothing more.
    fixture.reference.knobs.patch({ faults: [DEAF] });
  };
  truth.onMove = freeze;
  const until = clock.now() + CRASH_WITHIN_MS;
  while (!isFrozen && clock.now() < until) await clock.runUntil(clock.now() + 1_000);
  truth.onMove = undefined;
  freeze();
  await fixture.stopAsFrozen();
  truth.reads.lose(frozenAt, clock.now());
  fixture.reference.knobs.patch({ faults: [] });
  await fixture.start();
}

/** There is enough for it after all, or too little, and mostly the daemon hears of it. */
async function restockFor(life: Life, delivery = someDelivery(life)): Promise<void> {
  const { fixture, truth, random } = life;
  if (!delivery) return;
  const variant = variantOf(fixture.reference.world, delivery);
  const pieces = truth.shelf.wanted(variant) + random.pick([-20, 0, 20]);
  fixture.reference.world.stock.set(variant, Math.max(0, pieces));
  if (random.chance(0.7)) await pullStock(life);
}

/** Enough comes in for a while, and the daemon hears of it: what waits must begin anew. */
async function comeAndGo(life: Life): Promise<void> {
  const { fixture, truth, clock, random } = life;
  const { stock } = fixture.reference.world;
  const variant = random.pick(truth.shelf.variants);
  const before = stock.of(variant);
  stock.set(variant, before + truth.shelf.wanted(variant));
  await pullStock(life);
  await clock.runUntil(clock.now() + random.int(1, 10) * 60_000);
  stock.set(variant, Math.min(before, stock.of(variant)));
  await pullStock(life);
}

/** Something that matters to a reject, a moment before its grace is over. */
async function actAtGrace(life: Life): Promise<void> {
  const { fixture, clock, random } = life;
  const entry = await fixture
    .daemon()
    .store.db.selectFrom('reject_entry')
    .select(['order_delivery_id', 'due_at'])
    .where('state', '=', 'waiting')
    .orderBy('due_at')
    .executeTakeFirst();
  const delivery = entry && fixture.reference.world.book.deliveries.get(entry.order_delivery_id);
  if (!delivery) return;
  await clock.runUntil(Math.max(clock.now(), entry.due_at - random.int(0, 20_000)));
  const act = random.pick([
    actAtService,
    actAtService,
    actHere,
    repack,
    restockFor,
    restockFor,
    moveClock,
    tellCustomers,
    disarm,
    edit,
    crash,
  ]);
  await act(life, delivery);
}

/** How often each happens beside the others. */
const HAPPENINGS: readonly (readonly [weight: number, happen: (life: Life) => unknown])[] = [
  [60, place],
  [14, actAtService],
  [22, actHere],
  [6, tellCustomers],
  [14, restock],
  [6, restockFor],
  [3, comeAndGo],
  [3, troubleStock],
  [3, pauseStock],
  [3, pullStock],
  [8, repack],
  [4, moveClock],
  [12, arm],
  [2, disarm],
  [2, edit],
  [2, stopOrResume],
  [4, resetBreaker],
  [5, trouble],
  [3, endTrouble],
  [2, restart],
  [4, crash],
  [12, actAtGrace],
];
const ALL = HAPPENINGS.reduce((sum, [weight]) => sum + weight, 0);

/** The next thing that happens; gives its name. */
export async function happen(life: Life): Promise<string> {
  let left = life.random.next() * ALL;
  for (const [weight, act] of HAPPENINGS) {
    left -= weight;
    if (left >= 0) continue;
    await act(life);
    return act.name;
  }
  return 'nothing';
}

/** Every customer that there is: a rule that asks for one must find its row. */
export function tellAllCustomers({ fixture, truth, clock }: Life): void {
  using db = new Exchange(fixture.folder);
  for (let nth = 0; nth < ACCOUNTS; nth += 1) {
    const { accountNo } = fixture.reference.world.accounts.at(nth);
    db.put(accountNo, truth.blocked(accountNo).now, clock.now());
  }
}
