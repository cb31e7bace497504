/** A house whose strings, from the service and from people, are all chosen by a test. */

import { drawOrder } from '../../src/reference/life/arrivals.ts';
import { until, withStreams } from '../support/house.ts';
import type { AtEnd } from '../support/store.ts';
import { STREAM } from './routes.ts';
import { type ConsoleHouse, heldIds, startConsole } from './support.ts';

/** Beginning of each: markup, a quote that could end an attribute, and a formula. */
export const MARK = `=<i data-planted>"'&`;

/** Strings that tell who a customer is. */
export const PRIVATE = {
  company: `${MARK} Quillfeather Outfitters`,
  name: `${MARK} Ottoline Brackenbury`,
  address: `${MARK} Zinnober Alley 17`,
  address2: `${MARK} Backyard of Ulvenhald`,
  city: `${MARK} Grimsvattnet`,
  zip: 'QX 77 941',
  phone: '+45 7099 4411',
  email: 'ottoline@quillfeather.example',
  comment: `${MARK} call Brackenbury before noon`,
} as const;

/** Words of them that must not be found anywhere. */
export const PRIVATE_WORDS =
  /quillfeather|ottoline|brackenbury|zinnober|ulvenhald|grimsvattnet|77 941|7099 4411/i;

const RULES = `
rules:
  - id: hold-all
    title: Somebody looks at each delivery
    action: hold
    mode: live
    owner: sales
    when:
      - delivery.quantity > 0
  - id: hold-named
    title: Somebody knows the customer
    action: hold
    mode: live
    when:
      - order.city != "" && order.company != "" && order.comment != ""
    message: '{{order.company}} in {{order.city}} ({{order.zip}}) says {{order.comment}}'
  - id: reject-never
    title: Nobody arms it
    action: reject
    mode: live
    when:
      - delivery.quantity > 0
      - order.company != ""
    message: '{{order.company}} in {{order.city}}'
`;

export interface PlantedHouse extends ConsoleHouse {
  readonly delivery: number;
  readonly push: number;
  /** A suspicious one. */
  readonly run: number;
  readonly event: string;
  readonly order: number;
  readonly incident: number;
  readonly style: string;
  /** In the place of a trial, which each session has of its own. */
  readonly trial: string;
}

const STYLE = `${MARK} S1`;

/** Everything that people and the service write about it, quoting what is private. */
const CALL = `ring ${PRIVATE.phone} or ${PRIVATE.email}`;
const QUOTE = `${MARK} sent to ${PRIVATE.company}, ${PRIVATE.city}: ${CALL}`;

/** Names cannot be known where no order is: only e-mails and telephones are masked. */
const ABOUT_NO_ORDER = `${MARK} ${CALL}`;

async function plantPush({ daemon }: ConsoleHouse, orderId: number): Promise<number> {
  const { comment, name, ...rest } = PRIVATE;
  const [firstName, lastName] = [`${MARK} Ottoline`, name];
  const body = JSON.stringify({
    lines: [{ barcode: MARK, quantity: 1, price: '10.00' }],
    comment,
    shippingAddress: { ...rest, firstName, lastName, countryCode: 'DK' },
  });
  return daemon.store.transaction(async (tx) => {
    const { outbox_id: push } = await tx
      .insertInto('outbox')
      .values({
        ...{ kind: 'order', ordering_key: 'planted', reference: `${MARK} PO-1`, body },
        ...{ body_hash: '', state: 'in_doubt', due_at: 4e12, created_at: 1, in_doubt_since: 1 },
        ...{ cause: `${MARK} test`, attempts: 1, order_id: orderId },
        ...{ last_error: QUOTE, blocked_reason: QUOTE },
        problems: JSON.stringify([{ path: MARK, message: QUOTE, severity: 'error' }]),
      })
      .returning('outbox_id')
      .executeTakeFirstOrThrow();
    await tx
      .insertInto('outbox_attempt')
      .values({
        ...{ outbox_id: push, attempt: 1, started_at: 1, ended_at: 2, class: 'unknown' },
        ...{ http_status: 500, answer: QUOTE, error_code: `${MARK} code` },
      })
      .execute();
    const detail = JSON.stringify({ detail: { orderId, told: QUOTE, city: PRIVATE.city } });
    await tx
      .insertInto('outbox_evidence')
      .values({ outbox_id: push, at: 1, source: MARK, outcome: 'ambiguous', detail, complete: 0 })
      .execute();
    await tx
      .insertInto('outbox_revision')
      .values({
        ...{ outbox_id: push, revision: 1, body, cause: MARK, submitted_at: 1, state: 'refused' },
        ...{ problems: '[]', last_error: QUOTE, ended_at: 1, replaced_at: 2 },
      })
      .execute();
    return push;
  });
}

async function plantWords({ daemon }: ConsoleHouse, delivery: number): Promise<void> {
  const by = { at: 1, actor: `${MARK} ben` };
  await daemon.store.transaction(async (tx) => {
    await tx
      .updateTable('delivery')
      .set({ tracking_numbers: JSON.stringify([`${MARK} 00340`]), delivery_no: `${MARK} DN-1` })
      .where('order_delivery_id', '=', delivery)
      .execute();
    await tx
      .updateTable('sales_order')
      .set({ order_no: `${MARK} SO-1` })
      .execute();
    await tx
      .updateTable('webhook_event')
      .set({ type: `${MARK} order.packed` })
      .execute();
    await tx
      .insertInto('delivery_note')
      .values({ order_delivery_id: delivery, text: QUOTE, author: by.actor, at: 1 })
      .execute();
    await tx
      .insertInto('pause')
      .values([
        { target: 'stream', name: 'brands', reason: ABOUT_NO_ORDER, ...by },
        { target: 'decisions', name: '', reason: ABOUT_NO_ORDER, ...by },
      ])
      .execute();
    await tx
      .insertInto('incident')
      .values({ at: 1, kind: 'planted', entity: MARK, key: MARK, detail: ABOUT_NO_ORDER })
      .execute();
    await tx
      .updateTable('stream_state')
      .set({ last_error: ABOUT_NO_ORDER, complete_at: 1 })
      .execute();
  });
}

/** A run that a person must look at, with changes of rows that tell of people. */
async function plantRun({ daemon }: ConsoleHouse): Promise<number> {
  const { company, email } = PRIVATE;
  return daemon.store.transaction(async (tx) => {
    const counts = { pages: 1, rows_seen: 1, rows_changed: 1, rows_held: 1 };
    const asked = { stream: STREAM, cause: MARK, options: '{}', checkpoint: '{}' };
    const { run_id: run } = await tx
      .insertInto('sync_run')
      .values({
        ...{ ...asked, ...counts, started_at: Date.now(), ended_at: Date.now() + 1 },
        ...{ read_seq: 4e9, outcome: 'suspicious', reason: ABOUT_NO_ORDER },
      })
      .returning('run_id')
      .executeTakeFirstOrThrow();
    const diff = JSON.stringify({ company: [MARK, company], email: [null, email] });
    const change = { entity: 'sales_order', key: MARK, op: 'update', diff } as const;
    await tx
      .insertInto('change')
      .values({ ...change, at: 1, cause: `run:${run}` })
      .execute();
    const row = { entity: 'brand', raw: '[]', raw_hash: MARK, path: MARK, reason: ABOUT_NO_ORDER };
    await tx
      .insertInto('quarantine')
      .values({ ...row, source: `run:${run}`, first_seen_at: 1, last_seen_at: 1 })
      .execute();
    return run;
  });
}

/** An event whose body tells of people, and an act that quotes them. */
async function plantEvent({ daemon }: ConsoleHouse): Promise<string> {
  const body = Buffer.from(JSON.stringify({ data: { note: QUOTE, shippingAddress: PRIVATE } }));
  return daemon.store.transaction(async (tx) => {
    await tx.updateTable('webhook_event').set({ body }).execute();
    const act = { actor: MARK, action: 'planted', subject: MARK, reason: ABOUT_NO_ORDER };
    const detail = JSON.stringify({ company: PRIVATE.company, said: CALL });
    await tx
      .insertInto('audit')
      .values({ ...act, at: Date.now(), detail, session: MARK, address: MARK })
      .execute();
    const event = await tx.selectFrom('webhook_event').select('event_id').executeTakeFirstOrThrow();
    return event.event_id;
  });
}

/** Articles as the service may call them. */
async function plantArticles({ daemon }: ConsoleHouse, delivery: number): Promise<void> {
  const lines = await daemon.store.db
    .selectFrom('delivery_line')
    .select('barcode')
    .where('order_delivery_id', '=', delivery)
    .execute();
  const barcodes = new Set(lines.flatMap(({ barcode }) => barcode ?? []));
  const called = { style_no: STYLE, style_name: `${MARK} coat`, size: `${MARK} XL` };
  const own = { extra: '{}', content_hash: '', first_seen_at: 1, changed_at: 1, read_seq: 1 };
  for (const barcode of barcodes) {
    await daemon.store.db
      .insertInto('stock_variant_row')
      .values({
        barcode,
        quantity: 3,
        color_name: `${MARK} red`,
        ...called,
        ...own,
        source: 'run:1',
      })
      .execute();
  }
}

export async function startPlanted(atEnd?: AtEnd): Promise<PlantedHouse> {
  const quiet = { path: 'outbox.quietTime', value: '0s' };
  const settings = [quiet, ...withStreams('brands', 'seasons')];
  const house = await startConsole({ held: 0, rules: RULES, settings, ...(atEnd && { atEnd }) });
  const { world } = house.reference;
  const orderId = world.book.orders.nextId();
  const { comment, ...texts } = PRIVATE;
  const drawn = drawOrder(world, { seed: 7, orderId, preOrderShare: 0 });
  const address = { ...drawn.address, ...texts, provinceCode: '' };
  const reference = `${MARK} PO-${orderId}`;
  world.trade.place({ ...drawn, comment, address, reference });
  const delivery = await until('the held delivery', async () => (await heldIds(house.daemon))[0]);
  const push = await plantPush(house, orderId);
  await plantWords(house, delivery);
  await plantArticles(house, delivery);
  const run = await plantRun(house);
  const event = await plantEvent(house);
  const incidents = house.daemon.store.db.selectFrom('incident').select('id');
  const { id: incident } = await incidents.where('kind', '=', 'planted').executeTakeFirstOrThrow();
  const things = { order: orderId, delivery, push, run, style: STYLE, event, incident };
  return { ...house, ...things, trial: 'own' };
}
