/**
 * Evaluations as the journal stores them: compressed. Nearly all the text of an evaluation is the
 * same for each evaluation by one rule set, so the set's first evaluation, without values of facts,
 * is the compression dictionary for all. The evaluation of a forgotten order is plain text with
 * digests in it (forget.ts).
 */
import { deflateSync, inflateSync } from 'node:zlib';
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

/** A rule's result in which all values of facts are blanked. */
function blankedRule(value: unknown): Open {
  const { message, record, clauses, ...rule } = objectOf(value);
  const bare = Array.isArray(clauses) ? clauses.map(objectOf) : [];
  return {
    ...rule,
    ...(message === undefined ? {} : { message: FORGOTTEN_TEXT }),
    clauses: bare.map(({ operands, ...clause }) => ({
      ...clause,
      operands: Array.isArray(operands) ? operands.map(blankedOperand) : [],
    })),
  };
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

/**
 * Compresses the text of an evaluation; the first one by a rule set becomes the set's dictionary.
 */
export async function packEvaluation(tx: Tx, ruleSetHash: string, text: string): Promise<Buffer> {
  const row = await tx
    .selectFrom('rule_set')
    .select('words')
    .where('hash', '=', ruleSetHash)
    .executeTakeFirst();
  if (row?.words !== null) return deflateSync(text, dictionaryOf(row?.words));
  const words = deflateSync(JSON.stringify(blankedEvaluation(text)));
  await tx.updateTable('rule_set').set({ words }).where('hash', '=', ruleSetHash).execute();
  return deflateSync(text, dictionaryOf(words));
}

/** Decompresses the text of an evaluation; throws a SyntaxError if it is damaged. */
export function unpackEvaluation({ evaluation, words }: StoredEvaluation): string {
  const bytes = Buffer.from(evaluation);
  if (bytes.subarray(0, FORGOTTEN.length).equals(Buffer.from(FORGOTTEN))) return bytes.toString();
  try {
    return inflateSync(bytes, dictionaryOf(words)).toString();
  } catch (thrown) {
    throw new SyntaxError('an evaluation in the journal is damaged', { cause: thrown });
  }
}

/** Reads the evaluation from a row of `decision`. */
export function storedEvaluation(row: StoredEvaluation): Evaluation {
  return JSON.parse(unpackEvaluation(row));
}
