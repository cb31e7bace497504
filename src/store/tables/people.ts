/**
 * The one list of columns that may tell of people. Every column of text or bytes is named once, so
 * that none is forgotten (test/store/people.test.ts); masks, the support bundle, the plane and
 * forgetting an order read it.
 */
import { type RawBuilder, sql } from 'kysely';
import { QUOTE_SIGNS } from '../../lib/reading/quoted.ts';
import { caseKey } from '../../lib/strings.ts';
import type { Tx } from '../store.ts';
import type { Tables } from '../tables.ts';

/** Columns of a table, each list as names separated by spaces. */
interface Told {
  /** Columns that tell nothing of people: keys, states, hashes, names of goods. */
  readonly open?: string;
  /** Columns that operators wrote, or that name them. */
  readonly staff?: string;
  /** Columns whose sentences quote others, who may name a customer (lib/reading/quoted.ts). */
  readonly quotes?: string;
  /** Columns that tell of customers, with the value that is in their place for who may not know. */
  readonly people?: Readonly<Record<string, string | null>>;
}

/** Columns that each mirrored row has. */
const MARKS = 'content_hash source';
const EXTRA = { extra: '{}' };
const VARIANT =
  'barcode variant_type season_name style_no style_name brand_name color_code color_name size ' +
  `currency net_currency category gender unread extra ${MARKS}`;
const NAMED = `name extra ${MARKS}`;
const LINE = 'barcode season_name delivery_name';

export const TOLD: Readonly<Record<string, Told>> = {
  absence: { open: 'stream key' },
  announced: { open: 'thing status' },
  arming: { open: 'rule_id rule_hash', staff: 'actor reason ended_by end_reason' },
  audit: {
    open: 'action subject',
    staff: 'actor reason',
    people: { detail: '{}', session: null, address: null },
  },
  backtest_report: { open: 'rule_set_hash rules', staff: 'actor', people: { report: '{}' } },
  brand: { open: `brand_name extra ${MARKS}` },
  change: { open: 'entity key op cause', people: { diff: '{}' } },
  chunk: { open: 'stream part keys digest' },
  claim: { open: 'outcome' },
  color: { open: `color_id code ${NAMED}` },
  console_session: {
    open: 'key_hash role way credential_digest',
    staff: 'name address ended_by',
  },
  country: { open: `country_id code ${NAMED}` },
  daemon_state: { open: 'key', quotes: 'value' },
  decision: {
    open:
      'trigger rule_set_hash facts_digest mode outcome rules said matched lapsed previous_hash ' +
      'hash',
    staff: 'actor',
    people: { reason: '', shadow: '[]', evaluation: null },
  },
  delivery: {
    open: `delivery_no reference order_no status tracking_numbers unread ${MARKS}`,
    // A link may hold the post code; a parcel's number does not.
    people: { tracking_links: '[]', ...EXTRA },
  },
  delivery_assignment: { staff: 'name actor' },
  delivery_line: { open: LINE, people: EXTRA },
  delivery_note: { staff: 'author', people: { text: '' } },
  duplicate_key: { open: 'stream key' },
  erp_customer: { open: `account_no currency ${MARKS}`, people: EXTRA },
  evaluation: { open: 'delivery_hash order_hash rules_key basis due_why' },
  fact_snapshot: { open: 'digest', people: { facts: null } },
  freight_option: { open: `freight_type extra ${MARKS}` },
  gender: { open: `gender_id ${NAMED}` },
  hold: { open: 'rule_id rule_hash afterwards' },
  incident: { open: 'kind entity key', quotes: 'detail', people: { detail: '{}' } },
  incident_ack: { staff: 'actor reason' },
  intake: { open: 'channel source', people: { callback_error: null } },
  intake_file: { open: 'name sha256 folder stored_as mark' },
  intake_file_document: { people: { refusal: null } },
  intake_key: { open: 'client key' },
  key_place: { open: 'stream part key season_name brand_name prepared' },
  lease: { open: 'name holder' },
  match_seen: { open: 'rule_hash', staff: 'actor' },
  notification: { open: 'channel state', quotes: 'message last_error' },
  notification_told: { open: 'channel event' },
  outbox: {
    open:
      'kind ordering_key reference body_hash state expected_from cause reference_key ' +
      'shown_reference',
    quotes: 'problems last_error blocked_reason',
    people: { body: '{}', result: null, problems: '[]', last_error: null, blocked_reason: null },
  },
  outbox_attempt: { open: 'class error_code', quotes: 'answer', people: { answer: null } },
  outbox_candidate: {},
  outbox_evidence: { open: 'source outcome', quotes: 'detail', people: { detail: '{}' } },
  outbox_lost: { open: 'reference' },
  outbox_revision: {
    open: 'cause state',
    quotes: 'problems last_error',
    people: { body: '{}', problems: '[]', last_error: null },
  },
  outbox_transition: { open: 'from_state to_state' },
  outcome: {
    open: 'state',
    quotes: 'problem',
    people: { problem: null, callback_error: null },
  },
  pause: { open: 'target name', staff: 'actor reason' },
  pdm_brand: { open: `brand_id ${NAMED}` },
  pending_refund: {
    open: `reference status unread ${MARKS}`,
    people: { comment: null, ...EXTRA },
  },
  pending_refund_line: { open: 'barcode refund_type', people: EXTRA },
  quarantine: { open: 'entity raw_hash source', quotes: 'path reason', people: { raw: '' } },
  reference_spelling: { open: 'kind spellings' },
  refresh: { open: 'cause', quotes: 'last_error' },
  refund: { open: `refund_no reference order_no status unread ${MARKS}`, people: EXTRA },
  refund_awaited: {},
  refund_line: { open: 'barcode refund_type', people: EXTRA },
  refused_document: {},
  reject_entry: {
    open: 'rule_id rule_hash delivery_hash state safeguard account_no currency',
    staff: 'ended_by',
    people: { detail: null },
  },
  restored_stop: { open: 'action', staff: 'actor' },
  review: { open: 'action lines_hash', staff: 'actor reason why' },
  rule_set: { open: 'hash files words' },
  rule_text: { open: 'hash text' },
  sales_order: {
    open:
      'reference order_no status currency season_name country_code account_no freight_type ' +
      `unread ${MARKS}`,
    people: { comment: null, company: null, shipping_address: '{}', ...EXTRA },
  },
  sales_order_line: { open: LINE, people: EXTRA },
  saved_view: { staff: 'name author', people: { filter: '' } },
  schema_migration: { open: 'name checksum' },
  season: { open: `season_name unread extra ${MARKS}` },
  season_delivery: { open: 'season_name delivery_name' },
  season_variant_row: { open: `season_barcode ${VARIANT}` },
  season_window: { open: 'season_name delivery_name from_day to_day' },
  shared_number: { open: 'entity' },
  size_rank: { open: 'size' },
  stock_age: { open: 'brand_name season_name currency' },
  stock_day: { open: 'day brand_name season_name currency' },
  stock_out_of_band: { open: 'barcode' },
  stock_variant_row: { open: VARIANT },
  stream_state: { open: 'stream requested reading unlisted', quotes: 'last_error count_off' },
  style: {
    open:
      'style_id style_no style_name description designer brand_id type_id gender_id country_id ' +
      `style_color_ids extra ${MARKS}`,
  },
  style_color: { open: `style_color_id noos_type color_id extra ${MARKS}` },
  style_type: { open: `type_id ${NAMED}` },
  sync_run: {
    open: 'stream cause options outcome drastic change_guard',
    quotes: 'reason checkpoint count_off',
  },
  tally: { open: 'entity name' },
  variant_extra: { open: 'extra' },
  webhook_event: { open: 'event_id type secret_name outcome', people: { body: null } },
  zone_offset: { open: 'modifier' },
};

const names = (list = ''): readonly string[] => (list === '' ? [] : list.split(' '));

/** Tables whose rows are those of an entity of the mirror. */
export const MIRRORED_TABLES: readonly string[] = Object.keys(TOLD).filter((table) =>
  TOLD[table]?.open?.endsWith(MARKS),
);

/** Columns of a table that tell of customers, with the value in their place. */
export function peopleIn(table: string): Readonly<Record<string, string | null>> {
  return TOLD[table]?.people ?? {};
}

/** Columns of a table whose sentences quote others. */
export function quotesIn(table: string): readonly string[] {
  return names(TOLD[table]?.quotes);
}

/** Columns of a table that a stranger may see, once quotations are out of them. */
export function shareable(table: string): readonly string[] {
  const { open, quotes, people = {} } = TOLD[table] ?? {};
  return [...names(open), ...names(quotes)].filter((name) => !Object.hasOwn(people, name));
}

/**
 * Blanks the columns that tell of people in rows of one table; `own` has other values of some.
 */
export async function forgetPeople(
  tx: Tx,
  table: keyof Tables,
  rows: RawBuilder<boolean>,
  own: Readonly<Record<string, RawBuilder<unknown>>> = {},
): Promise<void> {
  const values = Object.entries({ ...peopleIn(table), ...own });
  const set = values.map(([name, value]) => sql`${sql.ref(name)} = ${value}`);
  await sql`update ${sql.table(table)} set ${sql.join(set)} where ${rows}`.execute(tx);
}

/** JSON list of keys, one of which `case_key` of a text contains where it has one of the words. */
export function keysOfWords(words: readonly string[]): string {
  // In capital letters a word may have others: GROSS is Groß.
  return JSON.stringify(words.flatMap((word) => [caseKey(word), caseKey(word.toUpperCase())]));
}

/**
 * Takes the quotations out of kept texts that have one of the words, by which a person is known
 * there; other texts tell of others and stay. Without a word, as of a person with a short name
 * alone, all quotations go. `without_quotes` and `case_key` are functions of our connections.
 */
export async function forgetQuotes(tx: Tx, words: readonly string[]): Promise<void> {
  const known = keysOfWords(words);
  for (const table of Object.keys(TOLD)) {
    for (const name of quotesIn(table)) {
      const column = sql.ref(name);
      const bare = sql`without_quotes(${column})`;
      // The signs of a quotation first: they cost nothing where there is none.
      const signs = QUOTE_SIGNS.map((sign) => sql`instr(${column}, ${sign}) > 0`);
      await sql`update ${sql.table(table)} set ${column} = ${bare}
        where (${sql.join(signs, sql` or `)}) and ${column} is not ${bare}
          and (${words.length} = 0 or exists (select 1 from json_each(${known}) w
            where instr(case_key(${column}), w.value) > 0))`.execute(tx);
    }
  }
}
