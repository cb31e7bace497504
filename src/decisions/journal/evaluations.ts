/**
 * Evaluations as the journal stores them: compressed. Nearly all the text of an evaluation is the
 * same for each evaluation by one rule set, so the set's first evaluation, without values of facts,
 * is the compression dictionary for all. The evaluation of a forgotten order is plain text with
 * digests in it (forget.ts).
 */
import { deflateSync, inflateSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { sql } from 'kysely';
import { z } from 'zod';
import { isJsonObject, tryParseJson } from '../../lib/json.ts';
import type { Evaluation } from '../../rules/evaluate.ts';
import type { Tx } from '../../store/store.ts';

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
export async function packEvaluation(
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
