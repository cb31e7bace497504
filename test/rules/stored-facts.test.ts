/** Facts in the journal: the same text as when amounts were whole hundredths. */
import { expect, it } from 'vitest';
import { canonicalJson } from '../../src/lib/json.ts';
import { factsOfText, storedText } from '../../src/rules/facts/stored.ts';
import {
  fieldsOf,
  isRecordName,
  type RecordName,
  ROOT_NAMES,
} from '../../src/rules/facts/table.ts';
import { factsOfTest } from '../../src/rules/facts/typical.ts';

const facts = factsOfTest({
  delivery: { amount: 2000.5, lines: [{ price: 4.4449, order_price: 5, list_price: null }] },
  order: { freight_amount: 12.345 },
  // A field of the ERP that has the name of an amount is none.
  customer: { extra: { price: 7, limit: 100, amount: 'x' } },
});

it('are stored in hundredths, and read as they were', () => {
  const text = storedText(facts);
  const { delivery, order, customer } = JSON.parse(text);
  expect(delivery).toMatchObject({
    ...{ amount: 200_050 },
    lines: [{ price: 444.49, order_price: 500, list_price: null }],
  });
  expect(order).toMatchObject({ amount: 200_000, freight_amount: 1_234.5 });
  expect(customer).toMatchObject({
    credit: { limit: 10_000_000, balance: 2_000_000 },
    extra: { price: 7, limit: 100, amount: 'x' },
  });
  expect(canonicalJson(factsOfText(text))).toBe(canonicalJson(facts));
});

/** Every field of the record, and of those below it; amounts are one unit. */
function filled(record: RecordName): object {
  const members = Object.entries(fieldsOf(record)).map(([name, { type, of }]) => {
    if (!isRecordName(of)) return [name, type === 'money' ? 1 : 'no amount'];
    return [name, type === 'records' ? [filled(of)] : filled(of)];
  });
  return Object.fromEntries(members);
}

it('leave out no amount of the fact table', () => {
  const whole = Object.fromEntries(ROOT_NAMES.map((root) => [root, filled(root)]));
  const text = canonicalJson(whole);
  expect(text.match(/:1\b/g)?.length).toBeGreaterThan(10);
  expect(storedText(whole)).toBe(text.replaceAll(/:1\b/g, ':0.01'));
  expect(canonicalJson(factsOfText(storedText(whole)))).toBe(text);
});
