/**
 * Changes of all kinds in a mirror, as the daemon makes them: mirrored rows through the mirror's
 * own writers, ledgers as their rooms write them. Texts are odd on purpose.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Random } from '../../src/lib/random.ts';
import { STOCK_VARIANT } from '../../src/mirror/catalog/variant.ts';
import { upsertRows } from '../../src/mirror/entity.ts';
import { forgetMirrored, keysOfOrder } from '../../src/mirror/forget.ts';
import { markDeleted } from '../../src/mirror/list.ts';
import type { EntityDefinition, MirrorRow } from '../../src/mirror/rows/prepared.ts';
import { DELIVERY, SALES_ORDER } from '../../src/mirror/sales-order.ts';
import { deleteOldChanges, mirrorClockStep } from '../../src/mirror/upkeep.ts';
import type { SqlRow } from '../../src/store/bulk.ts';
import { deleteOldLedgerChanges } from '../../src/store/ledger-feed.ts';
import type { SqliteStore, Tx } from '../../src/store/store.ts';

const TEXTS = ['Größe', "O'Neill", 'a\\u0000b', 'a\u0000b', '\\', '"', '\u2028', '👕', ''];
const KEYS = 60;

export interface Churn {
  readonly store: SqliteStore;
  readonly random: Random;
  /** Epoch ms of the next change. */
  at: number;
  seq: number;
}

const below = ({ random }: Churn, limit: number): number => random.int(0, limit - 1);
const textOf = (churn: Churn): string => TEXTS[below(churn, TEXTS.length)] ?? '';

function provenance(churn: Churn) {
  churn.seq += 1;
  return { at: churn.at, readSeq: churn.seq, source: `run:${churn.seq}` };
}

function rowOf({ columns, ownColumns = [] }: EntityDefinition, values: SqlRow): MirrorRow {
  const all = [...columns, ...ownColumns].map((name) => [name, values[name] ?? null]);
  return { values: Object.fromEntries(all), extra: { note: String(values.note ?? '') } };
}

async function changeVariants(tx: Tx, churn: Churn): Promise<void> {
  const rows = Array.from({ length: 1 + below(churn, 8) }, () => {
    const barcode = `${textOf(churn)}${below(churn, KEYS)}`;
    const style = `S${below(churn, 5)}`;
    const quantity = below(churn, 100);
    const values = { barcode, style_no: style, size: textOf(churn), quantity, price: 10_000 };
    return rowOf(STOCK_VARIANT, { ...values, note: textOf(churn) });
  });
  await upsertRows(tx, STOCK_VARIANT, rows, provenance(churn));
  if (below(churn, 3) > 0) return;
  const gone = [...TEXTS].map((text) => `${text}${below(churn, KEYS)}`);
  await markDeleted(tx, STOCK_VARIANT, gone, provenance(churn));
}

function linesOf(churn: Churn, columns: SqlRow): SqlRow[] {
  return Array.from({ length: below(churn, 4) }, (_, at) => ({
    line_no: at + 1,
    barcode: textOf(churn),
    price: below(churn, 5) * 10_000,
    season_name: null,
    delivery_name: null,
    ...columns,
    extra: JSON.stringify({ note: textOf(churn) }),
  }));
}

async function changeOrder(tx: Tx, churn: Churn): Promise<void> {
  const order_id = 500_000 + below(churn, KEYS);
  const status = below(churn, 2) === 0 ? 'pending' : 'fulfilled';
  const common = { order_id, status, reference: textOf(churn), created_at: churn.at };
  const people = { company: textOf(churn), comment: textOf(churn), shipping_address: '{"a":"b"}' };
  const order = rowOf(SALES_ORDER, { ...common, ...people, completed: 0 });
  const amounts = { quantity: 2, fulfilled_quantity: 1 };
  const sizes = { size_quantity: null, fulfilled_size_quantity: null };
  const lines = linesOf(churn, { ...amounts, ...sizes });
  await upsertRows(tx, SALES_ORDER, [{ ...order, lines }], provenance(churn));
  const packed = rowOf(DELIVERY, {
    ...common,
    order_delivery_id: 900_000 + below(churn, KEYS),
    tracking_numbers: '[]',
    tracking_links: '["https://parcel.example/1"]',
  });
  const packedLines = linesOf(churn, { fulfilled_quantity: 1, fulfilled_size_quantity: null });
  await upsertRows(tx, DELIVERY, [{ ...packed, lines: packedLines }], provenance(churn));
}

/** Statements on ledgers: each is one change of one row. */
function ledgerStatement(churn: Churn): RawBuilder<unknown> {
  const { at } = churn;
  const [id, text] = [below(churn, KEYS), textOf(churn)];
  const statements = [
    sql`insert into daemon_state (key, value, updated_at)
      values ('service_currency', ${text}, ${at})
      on conflict (key) do update set value = excluded.value`,
    sql`insert into daemon_state (key, value, updated_at) values ('read_sequence', ${id}, ${at})
      on conflict (key) do update set value = excluded.value`,
    sql`insert or replace into pause values ('stream', ${`s${id % 5}`}, ${text}, 'anna', ${at})`,
    sql`delete from pause where name = ${`s${id % 5}`}`,
    sql`insert or replace into size_rank values (${`${text}${id % 9}`}, ${id})`,
    sql`delete from size_rank where rank = ${id}`,
    sql`insert or ignore into webhook_event (event_id, received_at, sent_at, order_id, body,
      secret_name, outcome) values (${`e${id}`}, ${at}, ${at}, ${id}, ${Buffer.from(text)}, 'a',
      'stored')`,
    sql`update webhook_event set duplicates = duplicates + 1 where event_id = ${`e${id}`}`,
    sql`insert into decision (order_delivery_id, order_id, at, trigger, actor, rule_set_hash,
      facts_digest, mode, outcome, reason, rules, shadow, said, matched, lapsed, evaluation,
      previous_hash, hash) values (${id}, 1, ${at}, 'new', 'daemon', 'h', 'd', 'live', 'hold',
      ${text}, '["r"]', '[]', 'hold', '[]', '[]', ${Buffer.from([0, 255, id])}, '',
      hex(randomblob(8)))`,
    sql`insert or replace into evaluation (order_delivery_id, decision_id, delivery_hash,
      order_hash, rules_key, evaluated_at) values (${id}, ${id}, '', '', '', ${at})`,
    sql`insert or replace into hold
      values (${id}, ${text}, 'h', ${at}, null, ${at}, 'accept', null)`,
    sql`delete from hold where order_delivery_id = ${id}`,
    sql`insert or ignore into outbox (kind, ordering_key, reference, body, body_hash, due_at,
      created_at, cause) values ('order', 'k', ${`SO-${id}`}, ${JSON.stringify({ text })}, 'h',
      ${at}, ${at}, 'test')`,
    sql`update outbox set attempts = attempts + 1, last_error = ${text}
      where reference = ${`SO-${id}`}`,
    sql`insert or replace into outbox_attempt (outbox_id, attempt, started_at, answer)
      values (${id}, ${id % 3}, ${at}, ${text})`,
    sql`insert or replace into quarantine (id, entity, raw, raw_hash, path, reason, source,
      first_seen_at, last_seen_at) values (${id}, 'x', ${text}, ${`h${id}`}, 'p', 'r', 's', ${at},
      ${at})`,
    sql`delete from quarantine where id = ${id}`,
    sql`insert into audit (at, actor, action, subject, reason, detail)
      values (${at}, 'anna', 'a', 's', ${text}, '{}')`,
    sql`insert or replace into stock_day values ('2026-01-05', ${text}, '', '', ${id}, 1, 1, 1, 0,
      ${at})`,
  ];
  return statements[below(churn, statements.length)] ?? sql`select 1`;
}

async function doSomethingRare(tx: Tx, churn: Churn): Promise<void> {
  const order = 500_000 + below(churn, KEYS);
  if (below(churn, 2) === 0) {
    await forgetMirrored(tx, order, await keysOfOrder(tx, order), churn.at);
  } else {
    const step = { step: -5_000, now: churn.at - 5_000, isWatched: true };
    await mirrorClockStep.back(tx, step);
  }
}

/** Makes some changes in one transaction. */
export async function churnOnce(churn: Churn): Promise<void> {
  churn.at += 7;
  await churn.store.transaction(async (tx) => {
    const kind = below(churn, 12);
    if (kind < 5) await changeVariants(tx, churn);
    else if (kind < 8) await changeOrder(tx, churn);
    else if (kind === 8 && below(churn, 4) === 0) await doSomethingRare(tx, churn);
    for (let count = below(churn, 6); count > 0; count -= 1) {
      await ledgerStatement(churn).execute(tx);
    }
  });
}

/** Deletes as the daemon's retention does: up to 500 entries of each feed that are older. */
export async function deleteEntriesBefore(store: SqliteStore, before: number): Promise<void> {
  await store.transaction(async (tx) => {
    await deleteOldChanges(tx, before);
    await deleteOldLedgerChanges(tx, before);
  });
}
