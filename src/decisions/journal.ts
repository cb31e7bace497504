/**
 * The decision journal: append-only and chained by hash, so that a missing or altered entry shows.
 * A decision, its facts and, when it has one, its push are written in one transaction. Facts and
 * texts of a forgotten order are removed; the chain contains only their digests
 * (forget.ts).
 */
import { deflateSync, inflateSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { sql } from 'kysely';
import { z } from 'zod';
import { canonicalJson, isJsonObject, sha256, tryParseJson } from '../lib/json.ts';
import type { Evaluation } from '../rules/evaluate.ts';
import type { Facts } from '../rules/facts/plain.ts';
import { insertRow, updateRows, upsertRow } from '../store/bulk.ts';
import type { Db, Tx } from '../store/store.ts';
import type { DecisionOutcome, Tables } from '../store/tables.ts';
import { kept, type Value } from '../store/transaction/kept.ts';
import type { Subject } from './facts.ts';
import { endHolds } from './holds.ts';
import { basisOf, type Judgement, rulesKey } from './judgement.ts';
import { storeTexts } from './rule-texts.ts';

// Manual decisions: after one, the rules leave the delivery alone until its lines change.

/** Digest of the delivery's lines: barcodes, quantities and prices, in order. */
function linesHash({ facts }: Subject): string {
  const lines = facts.delivery.lines.map(({ barcode, quantity, price }) => [
    barcode,
    quantity,
    price,
  ]);
  return sha256(canonicalJson(lines));
}

/** Stores the manual decision together with the digest of the delivery's present lines. */
export async function writeReview(
  tx: Tx,
  subject: Subject,
  decision: Omit<Tables['review'], 'order_delivery_id' | 'lines_hash'>,
): Promise<void> {
  const row = { ...decision, lines_hash: linesHash(subject) };
  await tx
    .insertInto('review')
    .values({ order_delivery_id: subject.delivery.order_delivery_id, ...row })
    .onConflict((conflict) => conflict.column('order_delivery_id').doUpdateSet(row))
    .execute();
}

/**
 * Whether a person accepted, rejected, held or released the delivery and its lines are still the
 * same.
 */
export function hasManualDecision(subject: Subject): boolean {
  const { lines_hash: hash } = subject.past;
  return hash !== null && hash === linesHash(subject);
}

// Records a decision: the journal entry, and the delivery's row of the latest evaluation, which
// tells when it must be evaluated again. The rules, the safeguards of a reject and people all
// record their decisions through here, inside their own transaction.

/** The delivery's latest decision, if its basis is unchanged and it was not canceled. */
export function unchangedDecision(judgement: Judgement): number | undefined {
  const { decision_id: last, basis, rules_key: key } = judgement.subject.past;
  return last === null || key === '' || basis !== basisOf(judgement) ? undefined : last;
}

type Evaluated = Pick<Judgement, 'subject' | 'mode' | 'rules' | 'at' | 'dueAt'>;

function evaluated({ subject, mode, rules, at, dueAt }: Evaluated) {
  return {
    delivery_hash: subject.delivery.content_hash,
    order_hash: subject.orderHash,
    rules_key: rulesKey(mode, rules),
    evaluated_at: at,
    due_at: dueAt,
    due_why: null,
  };
}

/** Updates the evaluation of a delivery about which nothing new is decided. */
export async function rememberEvaluation(
  tx: Tx,
  judgement: Evaluated,
  other: { readonly basis?: string; readonly decision_id?: number } = {},
): Promise<void> {
  const { order_delivery_id } = judgement.subject.delivery;
  const set = { ...evaluated(judgement), ...other };
  await updateRows(tx, 'evaluation', set, { order_delivery_id });
}

/** Journals the decision, makes it the delivery's latest one, and gives its id. */
export async function recordDecision(
  tx: Tx,
  judgement: Judgement,
  by: { readonly actor: string; readonly trigger: string },
): Promise<number> {
  const { rules, mode, subject, evaluation, outcome, at } = judgement;
  const { hash } = rules.ruleSet;
  const { words, ...end } = await journalHead(tx, hash);
  if (words === undefined) await storeTexts(tx, { hash, files: rules.files }, at);
  const head = { ...end, words: words ?? null };
  const entry = {
    orderDeliveryId: subject.delivery.order_delivery_id,
    orderId: subject.delivery.order_id,
    at,
    ...by,
    ruleSetHash: hash,
    facts: { ...subject.facts, feed: head.feed },
    mode,
    outcome: outcome.kind,
    reason: outcome.reason,
    rules: outcome.rules,
    shadow: evaluation.shadow,
    evaluation,
  };
  const decisionId = await appendDecision(tx, entry, head);
  const { order_delivery_id: id } = subject.delivery;
  const made = { decision_id: decisionId, basis: basisOf(judgement) };
  const row = { order_delivery_id: id, ...evaluated(judgement), ...made };
  await upsertRow(tx, 'evaluation', 'order_delivery_id', row);
  // A person's decision ends the holds of the rules.
  if (by.actor !== 'daemon') await endHolds(tx, [id], at);
  return decisionId;
}

// Evaluations as the journal stores them: compressed. Nearly all the text of an evaluation is the
// same for each evaluation by one rule set, so the set's first evaluation, without values of facts,
// is the compression dictionary for all. The evaluation of a forgotten order is plain text with
// digests in it (forget.ts).

export interface StoredEvaluation {
  readonly evaluation: Uint8Array;
  /** Compression dictionary of the rule set; null: the set has none. */
  readonly words: Uint8Array | null;
}

function dictionaryOf(words: Uint8Array | null | undefined): { dictionary?: Buffer } {
  return words ? { dictionary: inflateSync(words) } : {};
}

/** First bytes of what zstd compresses; nothing that deflate makes begins so. */
const ZSTD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

type Open = Readonly<Record<string, unknown>>;

/** Text that replaces a forgotten sentence. */
export const FORGOTTEN_TEXT = 'forgotten';

function objectOf(value: unknown): Open {
  return isJsonObject(value) ? value : {};
}

/** An outcome whose reason is blanked. */
export function blankedOutcome(value: unknown): Open {
  return { ...objectOf(value), reason: FORGOTTEN_TEXT };
}

/** A clause's operand whose value is blanked. */
function blankedOperand(value: unknown): Open {
  return { text: objectOf(value).text, value: null };
}

/** A rule's result in which all values of facts are blanked; its members keep their order. */
function blankedRule(value: unknown): Open {
  const { record, ...rule } = objectOf(value);
  const bare = Array.isArray(rule.clauses) ? rule.clauses.map(objectOf) : [];
  const clauses = bare.map(({ operands, ...clause }) => ({
    ...clause,
    operands: Array.isArray(operands) ? operands.map(blankedOperand) : [],
  }));
  return { ...rule, clauses, ...(rule.message === undefined ? {} : { message: FORGOTTEN_TEXT }) };
}

/** An evaluation in which all values of facts are blanked. */
function blankedEvaluation(text: string): Open {
  const { rules, live, shadow, ...rest } = objectOf(tryParseJson(text));
  return {
    ...rest,
    rules: Array.isArray(rules) ? rules.map(blankedRule) : [],
    live: blankedOutcome(live),
    shadow: blankedOutcome(shadow),
  };
}

/** Digests of those texts of a journal entry that may tell of people. */
export interface TextDigests {
  readonly reason: string;
  readonly shadow: string;
  readonly evaluation: string;
}

/**
 * Beginning of the evaluation in an entry whose texts were forgotten; no compressed evaluation
 * begins so.
 */
const FORGOTTEN = '{"forgotten":';

/** SQL: whether the texts of a journal entry were forgotten. */
export const IS_FORGOTTEN = sql<boolean>`substr(evaluation, 1, ${sql.lit(FORGOTTEN.length)})
  = cast(${sql.lit(FORGOTTEN)} as blob)`;

/** Makes the text that replaces the evaluation of a forgotten order. */
export function forgottenEvaluation(digests: TextDigests, text: string): Buffer {
  return Buffer.from(JSON.stringify({ forgotten: digests, ...blankedEvaluation(text) }));
}

const forgottenSchema = z.object({
  forgotten: z.object({ reason: z.string(), shadow: z.string(), evaluation: z.string() }),
});

/**
 * Reads the digests that a forgotten entry keeps instead of its texts; undefined: nothing is
 * forgotten.
 */
export function keptDigests(evaluation: string): TextDigests | undefined {
  if (!evaluation.startsWith(FORGOTTEN)) return undefined;
  const kept = forgottenSchema.safeParse(tryParseJson(evaluation));
  return kept.success ? kept.data.forgotten : undefined;
}

function membersOf(value: unknown, member: string): readonly unknown[] {
  const list = objectOf(value)[member];
  return Array.isArray(list) ? list : [];
}

/** Clauses of all rules in their order; the objects are those of the evaluation. */
function clausesIn(evaluation: unknown): readonly Record<string, unknown>[] {
  const clauses = membersOf(evaluation, 'rules').flatMap((rule) => membersOf(rule, 'clauses'));
  return clauses.filter((clause) => isJsonObject(clause));
}

/**
 * Takes what the operands of clauses are out of an evaluation; only their texts stay in it.
 * Hundreds of rules show the same few values, and each would end a repetition of the dictionary.
 */
function takeValues(evaluation: unknown): readonly unknown[] {
  const values: unknown[] = [];
  for (const clause of clausesIn(evaluation)) {
    clause.operands = membersOf(clause, 'operands').map((operand) => {
      const { text, ...value } = objectOf(operand);
      values.push(value);
      return { text };
    });
  }
  return values;
}

function putValues(evaluation: unknown, values: readonly unknown[]): void {
  let at = 0;
  for (const clause of clausesIn(evaluation)) {
    clause.operands = membersOf(clause, 'operands').map((operand) => {
      at += 1;
      return { ...objectOf(operand), ...objectOf(values[at - 1]) };
    });
  }
}

/** Text of an evaluation with the values of its operands in a line before it. */
function withValuesApart(text: string): string {
  const evaluation = tryParseJson(text);
  const values = takeValues(evaluation);
  const apart = `${JSON.stringify(values)}\n${JSON.stringify(evaluation)}`;
  // The chain is over the exact text, so a text that would come back otherwise is kept as it is.
  return withValuesIn(apart) === text ? apart : text;
}

/** Undoes {@link withValuesApart}. */
function withValuesIn(stored: string): string {
  const end = stored.startsWith('[') ? stored.indexOf('\n') : -1;
  if (end < 0) return stored;
  const values: unknown = JSON.parse(stored.slice(0, end));
  const evaluation: unknown = JSON.parse(stored.slice(end));
  putValues(evaluation, Array.isArray(values) ? values : []);
  return JSON.stringify(evaluation);
}

/** Compresses by zstd: deflate sees 32 kB of a dictionary only, and 200 rules say more. */
function compress(text: string, words: Uint8Array | null | undefined): Buffer {
  return zstdCompressSync(withValuesApart(text), dictionaryOf(words));
}

/** Decompresses the text of an evaluation; those of 0.1.0 were deflated as they are. */
function decompress(bytes: Buffer, words: Uint8Array | null): string {
  const dictionary = dictionaryOf(words);
  const isZstd = bytes.subarray(0, ZSTD.length).equals(ZSTD);
  if (!isZstd) return inflateSync(bytes, dictionary).toString();
  return withValuesIn(zstdDecompressSync(bytes, dictionary).toString());
}

/**
 * Compresses the text of an evaluation by the set's dictionary; the first one by a rule set becomes
 * that (null: there is none yet).
 */
async function packEvaluation(
  tx: Tx,
  ruleSetHash: string,
  text: string,
  known: Uint8Array | null | undefined,
): Promise<Buffer> {
  if (known !== null) return compress(text, known);
  const blanked = blankedEvaluation(text);
  takeValues(blanked);
  const words = deflateSync(JSON.stringify(blanked));
  await tx.updateTable('rule_set').set({ words }).where('hash', '=', ruleSetHash).execute();
  return compress(text, words);
}

/** Decompresses the text of an evaluation; throws a SyntaxError if it is damaged. */
export function unpackEvaluation({ evaluation, words }: StoredEvaluation): string {
  const bytes = Buffer.from(evaluation);
  if (bytes.subarray(0, FORGOTTEN.length).equals(Buffer.from(FORGOTTEN))) return bytes.toString();
  try {
    return decompress(bytes, words);
  } catch (thrown) {
    throw new SyntaxError('an evaluation in the journal is damaged', { cause: thrown });
  }
}

/** Reads the evaluation from a row of `decision`. */
export function storedEvaluation(row: StoredEvaluation): Evaluation {
  return JSON.parse(unpackEvaluation(row));
}

/** End of the journal, of the change feed, and what the journal keeps of a rule set. */
export interface JournalHead {
  readonly feed: number;
  readonly previousHash: string;
  /** Dictionary of the set's evaluations; null: it has none yet; undefined: the set is unknown. */
  readonly words: Uint8Array | null | undefined;
}

export interface DecisionEntry {
  readonly orderDeliveryId: number;
  readonly orderId: number;
  readonly at: number;
  readonly trigger: string;
  readonly actor: string;
  readonly ruleSetHash: string;
  readonly facts: Facts;
  readonly mode: string;
  readonly outcome: DecisionOutcome;
  readonly reason: string;
  /** Ids of the rules that led to the outcome. */
  readonly rules: readonly string[];
  /** Outcome that the rules would have if shadow rules were live. */
  readonly shadow: unknown;
  readonly evaluation: Evaluation;
}

/** Stands for the hash of the entry before the first one. */
const GENESIS = '0'.repeat(64);

async function storeFacts(tx: Tx, facts: Facts, at: number): Promise<string> {
  const text = canonicalJson(facts);
  const digest = sha256(text);
  const row = { digest, at, facts: deflateSync(text) };
  await insertRow(tx, 'fact_snapshot', row, 'on conflict do nothing');
  return digest;
}

function textOf(facts: Uint8Array): string {
  return inflateSync(facts).toString();
}

/** Reads the facts from a row of `fact_snapshot`. */
export function storedFacts(facts: Uint8Array): Facts {
  return JSON.parse(textOf(facts));
}

/** Reads facts that are those of their digest; undefined when they are not, or are not stored. */
export function provenFacts(facts: Uint8Array | null, digest: string): Facts | undefined {
  const text = inflated(facts);
  return text !== undefined && sha256(text) === digest ? JSON.parse(text) : undefined;
}

/** Columns by which evaluations are searched: outcome, matching reject rules, lapsed rules. */
function signsOf({ live, rules }: Evaluation) {
  const matched = rules.filter(({ action, value }) => action === 'reject' && value === true);
  const lapsed = rules.filter((rule) => rule.lapsed !== undefined);
  const hashes = (some: Evaluation['rules']) => JSON.stringify(some.map(({ hash }) => hash));
  return { said: live.kind, matched: hashes(matched), lapsed: hashes(lapsed) };
}

/**
 * Digests of the texts that may tell of people. The hash of an entry contains only these digests,
 * so the texts can be forgotten without breaking the chain.
 */
export function digestsOf({ reason, shadow, evaluation }: TextDigests): TextDigests {
  return { reason: sha256(reason), shadow: sha256(shadow), evaluation: sha256(evaluation) };
}

/** Hash of an entry, in which its texts are replaced by their digests. */
function hashOf<Values extends TextDigests>(values: Values): string {
  return sha256(
    canonicalJson({ ...values, ...(keptDigests(values.evaluation) ?? digestsOf(values)) }),
  );
}

const headWith = kept(
  (_db: Db, ruleSetHash: Value<string>) => sql<{
    readonly feed: number | null;
    readonly hash: string | null;
    readonly known: number;
    readonly words: Uint8Array | null;
  }>`select (select max(seq) from change) feed,
      (select hash from decision order by decision_id desc limit 1) hash,
      s.hash is not null known, s.words
    from (select 1) left join rule_set s on s.hash = ${ruleSetHash}`,
);

/** Reads where the next entry is appended, in its transaction. */
async function journalHead(tx: Tx, ruleSetHash: string): Promise<JournalHead> {
  const [row] = await headWith(tx, ruleSetHash);
  return {
    feed: row?.feed ?? 0,
    previousHash: row?.hash ?? GENESIS,
    words: row?.known === 1 ? row.words : undefined,
  };
}

/** Appends an entry to the journal and gives its id; `head` is that of this transaction. */
export async function appendDecision(
  tx: Tx,
  entry: DecisionEntry,
  head?: JournalHead,
): Promise<number> {
  const { previousHash, words } = head ?? (await journalHead(tx, entry.ruleSetHash));
  const values = {
    order_delivery_id: entry.orderDeliveryId,
    order_id: entry.orderId,
    at: entry.at,
    trigger: entry.trigger,
    actor: entry.actor,
    rule_set_hash: entry.ruleSetHash,
    facts_digest: await storeFacts(tx, entry.facts, entry.at),
    mode: entry.mode,
    outcome: entry.outcome,
    reason: entry.reason,
    rules: JSON.stringify(entry.rules),
    shadow: JSON.stringify(entry.shadow),
    ...signsOf(entry.evaluation),
    evaluation: JSON.stringify(entry.evaluation),
    previous_hash: previousHash,
  };
  return insertRow(tx, 'decision', {
    ...values,
    evaluation: await packEvaluation(tx, entry.ruleSetHash, values.evaluation, words),
    hash: hashOf(values),
  });
}

export interface ChainReport {
  readonly entries: number;
  /** Number of entries whose facts and texts were forgotten; the chain contains their digests. */
  readonly forgotten: number;
  /** Id of the first entry whose hash, link, evaluation or facts are wrong; undefined: none is. */
  readonly brokenAt: number | undefined;
}

const PAGE_ROWS = 200;

/** Recomputes the hashes of the whole chain, and the digest of the facts behind each decision. */
export async function verifyChain(db: Db): Promise<ChainReport> {
  let previous = GENESIS;
  let entries = 0;
  let forgotten = 0;
  let last = 0;
  for (;;) {
    const rows = await db
      .selectFrom('decision as d')
      .leftJoin('fact_snapshot as f', 'f.digest', 'd.facts_digest')
      .leftJoin('rule_set as s', 's.hash', 'd.rule_set_hash')
      .selectAll('d')
      .select(['f.facts', 's.words'])
      .where('d.decision_id', '>', last)
      .orderBy('d.decision_id')
      .limit(PAGE_ROWS)
      .execute();
    for (const { decision_id: id, hash, facts, words, ...row } of rows) {
      const values = { ...row, evaluation: textIn({ evaluation: row.evaluation, words }) ?? '' };
      const linked = values.previous_hash === previous && hash === hashOf(values);
      const isForgotten = facts === null && keptDigests(values.evaluation) !== undefined;
      const isWhole = isForgotten || provenFacts(facts, values.facts_digest) !== undefined;
      if (!linked || !isWhole) return { entries, forgotten, brokenAt: id };
      if (isForgotten) forgotten += 1;
      previous = hash;
      entries += 1;
      last = id;
    }
    if (rows.length < PAGE_ROWS) return { entries, forgotten, brokenAt: undefined };
  }
}

/** Text of a stored evaluation; undefined when its bytes are damaged. */
function textIn(stored: StoredEvaluation): string | undefined {
  try {
    return unpackEvaluation(stored);
  } catch {
    return undefined;
  }
}

function inflated(facts: Uint8Array | null): string | undefined {
  try {
    return facts === null ? undefined : textOf(facts);
  } catch {
    return undefined;
  }
}

/** Reads the facts that a decision was made on; undefined when they are not stored. */
export async function readFacts(db: Db, digest: string): Promise<Facts | undefined> {
  const row = await db
    .selectFrom('fact_snapshot')
    .select('facts')
    .where('digest', '=', digest)
    .executeTakeFirst();
  return row && storedFacts(row.facts);
}
