import { expect, it } from 'vitest';
import { neverOccurred } from '../../../src/decisions/simulation/never-occurred.ts';
import { rulesOf, ruleText } from '../../rules/support.ts';
import { createDeciderFixture } from '../support.ts';

const SETTINGS = `
version: 1
lists:
  nordic: [DK, SE]
  blocked: { from: erp_customer.account_no, where: blocked, sample: [C-9] }
tables:
  limits: { DKK: 2000, SKE: 3000 }
`;

it('finds texts that no mirrored row ever had, with the nearest that did', async () => {
  const fixture = await createDeciderFixture();
  const address = { countryCode: 'dk', accountNo: 'C-100', company: 'Hansen & Co' };
  await fixture.order(1, { currency: 'SEK', shippingAddress: address });
  await fixture.delivery({ id: 1, order: 1, lines: [['a', 2]] });
  const texts = async (...when: string[]) => {
    const problems = await neverOccurred(fixture.store.db, rulesOf(ruleText(when), SETTINGS));
    return problems.map(({ line, message, hint }) => [line, message, hint ?? '']);
  };
  expect(await texts('order.country in lists.nordic', 'order.country != "FI"')).toEqual([
    [7, '"SE" of lists.nordic never occurred as order.country', ''],
    [8, '"FI" never occurred as order.country', ''],
  ]);
  expect(await texts('delivery.amount < tables.limits[order.currency]')).toEqual([
    [7, '"DKK" of tables.limits never occurred as order.currency', ''],
    [7, '"SKE" of tables.limits never occurred as order.currency', 'the nearest that did: SEK'],
  ]);
  expect(await texts('order.account_no in ["C-100", "C-10"]')).toEqual([
    [7, '"C-10" never occurred as order.account_no', 'the nearest that did: C-100'],
  ]);
  // Capitals count, but not below lower(); a list that is read, and a fact without rows, are left.
  expect(await texts('order.company == "hansen & co"')).toHaveLength(1);
  expect(await texts('lower(order.company) == "hansen & co"')).toEqual([]);
  expect(await texts('order.account_no in lists.blocked')).toEqual([]);
  expect(await texts('order.season == "AW99"', 'order.company != ""')).toEqual([]);
});
