/**
 * Evaluations as the journal stores them. Nearly all of one is what each evaluation by the same
 * rule set says, so the set's first one is the dictionary of the others.
 */
import { deflateSync, inflateSync } from 'node:zlib';
import type { Evaluation } from '../rules/evaluate.ts';
import type { Tx } from '../store/store.ts';

export interface StoredEvaluation {
  readonly evaluation: Uint8Array;
  /** Those of the rule set; null: it had none. */
  readonly words: Uint8Array | null;
}

function dictionaryOf(words: Uint8Array | null | undefined): { dictionary?: Buffer } {
  return words ? { dictionary: inflateSync(words) } : {};
}

/** The text, deflated; the first one by a rule set becomes its words. */
export async function packEvaluation(tx: Tx, ruleSetHash: string, text: string): Promise<Buffer> {
  const row = await tx
    .selectFrom('rule_set')
    .select('words')
    .where('hash', '=', ruleSetHash)
    .executeTakeFirst();
  if (row?.words !== null) return deflateSync(text, dictionaryOf(row?.words));
  const words = deflateSync(text);
  await tx.updateTable('rule_set').set({ words }).where('hash', '=', ruleSetHash).execute();
  return deflateSync(text, dictionaryOf(words));
}

/** The text that was packed; a SyntaxError where it is not whole. */
export function unpackEvaluation({ evaluation, words }: StoredEvaluation): string {
  try {
    return inflateSync(evaluation, dictionaryOf(words)).toString();
  } catch (thrown) {
    throw new SyntaxError('an evaluation in the journal is damaged', { cause: thrown });
  }
}

/** The evaluation of a row of `decision`. */
export function storedEvaluation(row: StoredEvaluation): Evaluation {
  return JSON.parse(unpackEvaluation(row));
}
