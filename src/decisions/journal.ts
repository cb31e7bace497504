/**
 * The decision journal: append-only and chained by hash, so that a missing or altered entry shows.
 * A decision, its facts and, when it has one, its push are written in one transaction. Facts and
 * texts of a forgotten order are removed; the chain contains only their digests
 * (journal/forget.ts).
 */
import { deflateSync, inflateSync } from 'node:zlib';
import { sql } from 'kysely';
import { canonicalJson, sha256 } from '../lib/json.ts';
import type { Evaluation } from '../rules/evaluate.ts';
import type { Facts } from '../rules/facts/plain.ts';
import type { Db, Tx } from '../store/store.ts';
import type { DecisionOutcome } from '../store/tables.ts';
import {
  keptDigests,
  packEvaluation,
  type StoredEvaluation,
  type TextDigests,
  unpackEvaluation,
} from './journal/evaluations.ts';

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
  await tx
    .insertInto('fact_snapshot')
    .values({ digest, at, facts: deflateSync(text) })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
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

/** Reads where the next entry is appended, in its transaction. */
export async function journalHead(tx: Tx, ruleSetHash: string): Promise<JournalHead> {
  const { rows } = await sql<{
    readonly feed: number | null;
    readonly hash: string | null;
    readonly known: number;
    readonly words: Uint8Array | null;
  }>`select (select max(seq) from change) feed,
      (select hash from decision order by decision_id desc limit 1) hash,
      s.hash is not null known, s.words
    from (select 1) left join rule_set s on s.hash = ${ruleSetHash}`.execute(tx);
  const [row] = rows;
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
  const row = await tx
    .insertInto('decision')
    .values({
      ...values,
      evaluation: await packEvaluation(tx, entry.ruleSetHash, values.evaluation, words),
      hash: hashOf(values),
    })
    .returning('decision_id')
    .executeTakeFirstOrThrow();
  return row.decision_id;
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
