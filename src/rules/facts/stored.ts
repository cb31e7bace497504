/**
 * Facts as the journal keeps them: with amounts in hundredths, of which some have decimals. The
 * digests of facts, by which a decision stands as long as nothing has changed, and the chain of the
 * journal are over this text: those of before were made when amounts were whole hundredths.
 */
import { canonicalJson, isJsonObject } from '../../lib/json.ts';
import { hundredthsOf, unitsOfHundredths } from '../../lib/money.ts';
import type { Facts } from './plain.ts';
import { fieldsOf, isRecordName, type RecordName, ROOT_NAMES } from './table.ts';

function convertIn(record: RecordName, plain: unknown, convert: (amount: number) => number): void {
  if (!isJsonObject(plain)) return;
  for (const [name, { type, of }] of Object.entries(fieldsOf(record))) {
    const value = plain[name];
    if (isRecordName(of)) {
      for (const inner of Array.isArray(value) ? value : [value]) convertIn(of, inner, convert);
    } else if (type === 'money' && typeof value === 'number') plain[name] = convert(value);
  }
}

/** Canonical: equal facts have equal texts. */
export function storedText(facts: Readonly<Partial<Record<keyof Facts, unknown>>>): string {
  const copy = structuredClone(facts);
  for (const root of ROOT_NAMES) convertIn(root, copy[root], hundredthsOf);
  return canonicalJson(copy);
}

export function factsOfText(text: string): Facts {
  const facts: Facts = JSON.parse(text);
  for (const root of ROOT_NAMES) convertIn(root, facts[root], unitsOfHundredths);
  return facts;
}
