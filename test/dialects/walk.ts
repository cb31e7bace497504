/**
 * Walks an account in its dialect from end to end: the streams become complete, an order that the
 * ERP submits is confirmed, its packed delivery is decided and accepted, a pending refund is
 * confirmed.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { systemClock } from '../../src/lib/clock.ts';
import { Secret } from '../../src/lib/secret.ts';
import type { Reference } from '../../src/reference/reference.ts';
import type { Setting } from '../config/config-of.ts';
import { startFastReference } from '../e2e/support.ts';
import { type RunningDaemon, startTestDaemon, testConfig } from '../support/house.ts';
import { type AtEnd, temporaryFolder } from '../support/store.ts';

const TOKEN = 'the-token-of-the-erp-0123456789';

const SETTINGS = `
version: 1
mode: live
tables:
  up_to: { DKK: 900000, SEK: 900000, NOK: 900000, EUR: 900000, GBP: 900000, USD: 900000,
    JPY: 90000000, KWD: 900000 }
`;

const RULES = `
rules:
  - id: accept-covered
    title: In stock, priced as ordered
    action: accept
    mode: live
    when:
      - delivery.quantity > 0
      - delivery.amount <= tables.up_to[order.currency]
      - delivery.lines.all(line, line.missing == 0)
`;

const STREAMS = [
  'brands',
  'freight',
  'seasons',
  'stock',
  'season',
  'orders',
  'ordersFull',
] as const;
export interface Account {
  readonly knobs?: Readonly<Record<string, unknown>>;
  /** Settings that such an account needs: `service.dialect.v1.currency: EUR`. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** The grounds of a decision cannot be read: a person decides, and an incident says so. */
  readonly waits?: boolean;
}

export interface Outcome {
  /** Streams that are not complete. */
  readonly incomplete: readonly string[];
  /** `confirmed`, or how the document ended and why. */
  readonly order: string;
  /** Status at the service of the order's delivery. */
  readonly delivery: string;
  readonly refund: string;
  /** Orders at the service under our reference or with our lines. */
  readonly made: number;
  /** Orders and deliveries that the mirror has more than once, by their numbers for people. */
  readonly twice: readonly string[];
  readonly incidents: readonly string[];
}

const WORLD = { styles: 4, colors: 2, sizes: 3, brands: 2, seasons: 2, accounts: 2, orders: 2 };
const LIFE = {
  ...{ packAfter: '100ms', packJitter: 0, splitShare: 0, cancelShare: 0, shipAfter: '1h' },
  ...{ confirmRefundAfter: '100ms', restocksPerMinute: 0, preOrderShare: 0 },
};
const WALK_MS_MAX = 120_000;
/** Runs of a stream that may end otherwise than complete, and the pause before the next. */
const RUNS_MAX = 5;
const AGAIN_MS = 500;

interface House {
  readonly reference: Reference;
  readonly daemon: RunningDaemon;
  readonly post: (path: string, document: object) => Promise<Receipt>;
  /** Asks for one more run of a stream, as its schedule would. */
  readonly pull: (stream: string) => Promise<void>;
}

const receiptSchema = z.looseObject({
  documentId: z.int().nullable(),
  state: z.string(),
  final: z.boolean().optional(),
  problems: z.array(z.looseObject({ message: z.string() })).optional(),
  nextStep: z.string().optional(),
});
type Receipt = z.output<typeof receiptSchema>;

/** Waits for it, or gives what there is when the walk has lasted too long. */
async function settled<T>(
  look: () => Promise<T>,
  isOver: (found: T) => boolean | Promise<boolean>,
): Promise<T> {
  const clock = systemClock();
  const end = clock.monotonic() + WALK_MS_MAX;
  for (;;) {
    const found = await look();
    if ((await isOver(found)) || clock.monotonic() > end) return found;
    await clock.sleep(20);
  }
}

async function openHouse({ knobs, settings }: Account, atEnd: AtEnd): Promise<House> {
  const { life, world, ...rest } = z
    .looseObject({ life: z.looseObject({}).optional(), world: z.looseObject({}).optional() })
    .parse(knobs ?? {});
  const all = { ...rest, world: { ...WORLD, ...world }, life: { ...LIFE, ...life } };
  const reference = await startFastReference(all, systemClock(), atEnd);
  const values: Readonly<Record<string, unknown>> = {
    'intake.clients': [{ name: 'erp', token: new Secret('token', TOKEN) }],
    'service.limits.loginSpacing': '0s',
    'streams.off': [],
    'outbox.delayMin': '50ms',
    'outbox.lookEvery': '1s',
    'outbox.quietTime': '2s',
    ...settings,
  };
  const overrides: Setting[] = Object.entries(values).map(([path, value]) => ({ path, value }));
  const folder = temporaryFolder(atEnd);
  const config = testConfig(reference, { folder, overrides, rules: RULES });
  writeFileSync(join(folder, 'rules', 'settings.yaml'), SETTINGS);
  const daemon = await startTestDaemon(reference, config, systemClock(), atEnd);
  const local = await settled(
    async () => {
      try {
        const text: unknown = JSON.parse(readFileSync(join(folder, 'data', 'local.json'), 'utf8'));
        return z.object({ url: z.string(), token: z.string() }).parse(text);
      } catch {
        return undefined;
      }
    },
    (found) => found !== undefined,
  );
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  const post: House['post'] = async (path, document) => {
    const request = { method: 'POST', headers, body: JSON.stringify(document) };
    return receiptSchema.parse(await (await fetch(`${local?.url}${path}`, request)).json());
  };
  const pull: House['pull'] = async (stream) => {
    const own = { ...headers, authorization: `Bearer ${local?.token}` };
    const body = JSON.stringify({ given: { stream }, actor: 'test', reason: 'the next run' });
    const request = { method: 'POST', headers: own, body };
    const { ok, status } = await fetch(`${local?.url}/api/acts/sync.run`, request);
    if (!ok) throw new Error(`${stream} cannot be pulled: ${status}`);
  };
  return { reference, daemon, post, pull };
}

async function incompleteOf({ daemon }: House): Promise<string[]> {
  const rows = await daemon.store.db
    .selectFrom('stream_state')
    .select(['stream', 'complete_at'])
    .execute();
  const complete = new Set(rows.flatMap((row) => (row.complete_at === null ? [] : [row.stream])));
  return STREAMS.filter((name) => !complete.has(name));
}

async function endOf({ daemon }: House, reference: string): Promise<string> {
  const ended = await settled(
    async () =>
      daemon.store.db
        .selectFrom('outbox')
        .select(['state', 'last_error', 'blocked_reason', 'ended_at'])
        .where('reference', '=', reference)
        .executeTakeFirst(),
    (row) => row?.ended_at !== null || row.blocked_reason !== null,
  );
  if (!ended) return 'not in the outbox';
  const why = ended.blocked_reason ?? ended.last_error;
  return ended.state === 'confirmed' || why === null ? ended.state : `${ended.state}: ${why}`;
}

interface Document {
  readonly reference: string;
  readonly [member: string]: unknown;
}

async function submit(house: House, path: string, document: Document): Promise<string> {
  const { state, problems = [] } = await house.post(path, document);
  if (state === 'refused') return `refused: ${problems.map(({ message }) => message).join('; ')}`;
  return endOf(house, document.reference);
}

/** A variant that is in stock, as the mirror has it. */
async function articleOf({ daemon }: House) {
  return daemon.store.db
    .selectFrom('stock_variant')
    .select(['barcode', 'wsp_price'])
    .where('deleted_at', 'is', null)
    .where('quantity', '>', 5)
    .orderBy('barcode')
    .limit(1)
    .executeTakeFirst();
}

/** Gives streams that do not become complete; some lists need more runs than one. */
async function completeAll(house: House): Promise<string[]> {
  const { db } = house.daemon.store;
  const again = new Map<string, number>();
  return settled(
    async () => {
      const incomplete = await incompleteOf(house);
      const ended = await db
        .selectFrom('sync_run')
        .select((eb) => ['stream', eb.fn.countAll<number>().as('runs')])
        .where('stream', 'in', ['', ...incomplete])
        .where('outcome', 'in', ['partial', 'suspicious'])
        .groupBy('stream')
        .execute();
      for (const { stream, runs } of ended) {
        // Another one is asked for once the last that was has ended.
        if ((again.get(stream) ?? 0) >= Number(runs) || Number(runs) > RUNS_MAX) continue;
        again.set(stream, Number(runs));
        await systemClock().sleep(AGAIN_MS);
        await house.pull(stream);
      }
      return incomplete;
    },
    (names) => names.length === 0,
  );
}

const ADDRESS = {
  ...{ firstName: 'Ann', lastName: 'Shop', address: 'Road 1', city: 'Town', zip: '8000' },
  ...{ countryCode: 'DK', phone: '1', email: 'a@example.com' },
};

/** Tells whether the order's delivery waits for a person, and an incident says why. */
async function isHeld({ daemon, reference }: House): Promise<boolean> {
  const [made] = placed(reference);
  const row = await daemon.store.db
    .selectFrom('decision')
    .innerJoin('incident', (join) => join.on('resolved_at', 'is', null))
    .select('decision_id')
    .where('order_id', '=', made?.orderId ?? 0)
    .where('outcome', '=', 'hold')
    .executeTakeFirst();
  return row !== undefined;
}

const placed = ({ world }: Reference) => world.book.orders.all.slice(WORLD.orders);

/** Gives the status of the order's delivery at the service, once it is decided. */
async function deliveryOf(house: House, waits: boolean): Promise<string> {
  const { deliveries } = house.reference.world.book;
  return settled(
    async () => {
      const [made] = placed(house.reference);
      const packed = made ? deliveries.ofOrder(made.orderId) : [];
      return packed.map(({ status }) => status).join(', ') || 'none';
    },
    async (statuses) => (waits ? isHeld(house) : statuses === 'accepted'),
  );
}

async function mirroredTwice({ daemon }: House): Promise<string[]> {
  const orders = await daemon.store.db.selectFrom('sales_order').select('order_no as no').execute();
  const packed = await daemon.store.db.selectFrom('delivery').select('delivery_no as no').execute();
  const numbers = [...orders, ...packed].flatMap(({ no }) => no ?? []);
  return numbers.filter((no, at) => numbers.indexOf(no) !== at);
}

/** Walks the account, and gives how far that came. */
export async function walk(account: Account, atEnd: AtEnd): Promise<Outcome> {
  const house = await openHouse(account, atEnd);
  const { reference, daemon } = house;
  const incomplete = await completeAll(house);
  const article = await articleOf(house);
  // One price in all currencies, however far it is from the list price.
  const lines = [
    {
      barcode: article?.barcode ?? 'none',
      quantity: 2,
      price: '40.00',
      priceConfirmed: true,
    },
  ];
  const freight = { amount: '0.00', type: 'Standard' };
  const [option] = await daemon.store.db
    .selectFrom('freight_option')
    .select('freight_type')
    .where('deleted_at', 'is', null)
    .limit(1)
    .execute();
  const own = 'PO #7 Åse 1';
  const order = await submit(house, '/api/orders', {
    ...{ reference: own, lines, shippingAddress: ADDRESS },
    freight: option ? { ...freight, type: option.freight_type } : { amount: '0.00' },
  });
  const { waits = false } = account;
  const delivery = order === 'confirmed' ? await deliveryOf(house, waits) : 'not waited for';
  const returned = [{ barcode: lines[0]?.barcode, quantity: 1 }];
  const pending = { reference: 'RF-1', orderReference: own, lines: returned };
  const refund = waits ? 'not submitted' : await submit(house, '/api/pending-refunds', pending);
  const incidents = await daemon.store.db
    .selectFrom('incident')
    .select(['kind', 'key'])
    .where('resolved_at', 'is', null)
    .execute();
  const made = placed(reference).length;
  const twice = await mirroredTwice(house);
  await daemon.stop();
  return {
    ...{ incomplete, order, delivery, refund, made, twice },
    incidents: incidents.map(({ kind, key }) => `${kind} ${key}`),
  };
}
