/**
 * Evaluations as the journal stores them. Nearly all of one is what each evaluation by the same
 * rule set says, so the set's first one, without values of facts, is the dictionary of all. That
 * of a forgotten order is plain text with digests in it (forget.ts).
 */
import { deflateSync, inflateSync } from 'node:zlib';
import { sql } from 'kysely';
import { z } from 'zod';
import { isJsonObject, tryParseJson } from '../../lib/json.ts';
import type { Evaluation } from '../../rules/evaluate.ts';
import type { Tx } from '../../store/store.ts';

export interface StoredEvaluation {
  readonly evaluation: Uint8Array;
  /** Words of the rule set; null: it had none. */
  readonly words: Uint8Array | null;
}

function dictionaryOf(words: Uint8Array | null | undefined): { dictionary?: Buffer } {
  return words ? { dictionary: inflateSync(words) } : {};
}

type Open = Readonly<Record<string, unknown>>;

/** In the place of a sentence. */
export const FORGOTTEN_TEXT = 'forgotten';

function objectOf(value: unknown): Open {
  return isJsonObject(value) ? value : {};
}

/** An outcome without its sentence. */
export function blankedOutcome(value: unknown): Open {
  return { ...objectOf(value), reason: FORGOTTEN_TEXT };
}

/** A value behind a clause, without itself. */
function blankedOperand(value: unknown): Open {
  return { text: objectOf(value).text, value: null };
}

/** A rule's result, without values of facts. */
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

/** The rules' results, without what they saw. */
function blankedEvaluation(text: string): Open {
  const { rules, live, shadow, ...rest } = objectOf(tryParseJson(text));
  return {
    ...rest,
    rules: Array.isArray(rules) ? rules.map(blankedRule) : [],
    live: blankedOutcome(live),
    shadow: blankedOutcome(shadow),
  };
}

/** Digests of the texts of an entry that may tell of people. */
export interface TextDigests {
  readonly reason: string;
  readonly shadow: string;
  readonly evaluation: string;
}

/** Beginning of the evaluation of an entry whose texts were forgotten; no deflated one has it. */
const FORGOTTEN = '{"forgotten":';

/** SQL: whether the texts of an entry were forgotten. */
export const IS_FORGOTTEN = sql<boolean>`substr(evaluation, 1, ${sql.lit(FORGOTTEN.length)})
  = cast(${sql.lit(FORGOTTEN)} as blob)`;

/** Stands for an evaluation whose order was forgotten. */
export function forgottenEvaluation(digests: TextDigests, text: string): Buffer {
  return Buffer.from(JSON.stringify({ forgotten: digests, ...blankedEvaluation(text) }));
}

const forgottenSchema = z.object({
  forgotten: z.object({ reason: z.string(), shadow: z.string(), evaluation: z.string() }),
});

/** Digests that a forgotten entry keeps in the place of its texts; undefined: it has the texts. */
export function keptDigests(evaluation: string): TextDigests | undefined {
  if (!evaluation.startsWith(FORGOTTEN)) return undefined;
  const kept = forgottenSchema.safeParse(tryParseJson(evaluation));
  return kept.success ? kept.data.forgotten : undefined;
}

/** The text, deflated; the first one by a rule set gives its words. */
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

/** The text that was packed; a SyntaxError where it is not whole. */
export function unpackEvaluation({ evaluation, words }: StoredEvaluation): string {
  const bytes = Buffer.from(evaluation);
  if (bytes.subarray(0, FORGOTTEN.length).equals(Buffer.from(FORGOTTEN))) return bytes.toString();
  try {
    return inflateSync(bytes, dictionaryOf(words)).toString();
  } catch (thrown) {
    throw new SyntaxError('an evaluation in the journal is damaged', { cause: thrown });
  }
}

/** The evaluation of a row of `decision`. */
export function storedEvaluation(row: StoredEvaluation): Evaluation {
  return JSON.parse(unpackEvaluation(row));
}
