/** Policies of simulated clerks, of many shapes, about what ten rules leave. */
import type { Policy } from './clerk.ts';

type Seen = Parameters<Policy>[0];
type Wanted = ReturnType<Policy>;

const pieces = ({ facts }: Seen): number => facts.delivery.quantity ?? 0;
const country = ({ facts }: Seen): string => facts.order.country ?? '';

/** Decides only what no rule decided. */
function uncovered(decide: (seen: Seen, clerk: string) => Wanted): Policy {
  return (seen, clerk) => (seen.byRules.kind === 'no_rule' ? decide(seen, clerk) : undefined);
}

const acceptOrHold = (is: (seen: Seen) => boolean): Policy =>
  uncovered((seen) => (is(seen) ? 'accept' : 'hold'));

const acceptOrLeave = (is: (seen: Seen) => boolean): Policy =>
  uncovered((seen) => (is(seen) ? 'accept' : undefined));

const TRUSTED = [
  'C-2',
  'C-5',
  'C-9',
  'C-14',
  'C-20',
  'C-21',
  'C-33',
  'C-40',
  'C-41',
  'C-47',
  'C-58',
];
const TABLE: Readonly<Record<string, number>> = { DK: 30, SE: 24, DE: 40 };
const DAY_MS = 86_400_000;

/** Nineteen policies that everybody shares. */
export const POLICIES: Readonly<Record<string, Policy>> = {
  'a limit of pieces': acceptOrHold((seen) => pieces(seen) <= 24),
  'two limits by country': acceptOrHold(
    (seen) => pieces(seen) <= (country(seen) === 'DK' ? 40 : 15),
  ),
  'an amount in one currency': acceptOrLeave(
    ({ facts }) => facts.order.currency === 'DKK' && (facts.delivery.amount ?? 0) <= 15_000_0000,
  ),
  'a set of customers': acceptOrLeave(({ facts }) =>
    TRUSTED.includes(facts.order.account_no ?? ''),
  ),
  'days of the week': acceptOrHold(
    ({ facts }) => !['friday', 'saturday', 'sunday'].includes(facts.clock.weekday),
  ),
  'the season of a line': acceptOrHold(
    ({ facts }) => !facts.delivery.lines.some(({ season }) => season === 'SS26'),
  ),
  'a brand that is looked at': acceptOrHold(
    ({ facts }) => !facts.delivery.lines.some(({ brand }) => brand === 'Havn'),
  ),
  'a freight option': acceptOrHold(({ facts }) => facts.order.freight_type !== 'Pick-up'),
  'prices near those of the order': acceptOrHold(({ facts }) =>
    facts.delivery.lines.every(({ price_diff_pct: diff }) => Number(diff ?? 0) <= 3),
  ),
  'hours of business': acceptOrLeave(({ facts }) => facts.clock.business_hours),
  'what fits the credit': acceptOrHold(({ facts }) => {
    const headroom = facts.customer?.credit?.headroom ?? 0;
    return (facts.delivery.amount ?? 0) <= headroom;
  }),
  'customers of long standing': acceptOrHold(
    ({ facts }) => (facts.customer?.orders_before ?? 0) >= 12,
  ),
  'many refunds': acceptOrHold(({ facts }) => (facts.customer?.refunds_90d ?? 0) < 3),
  'a comment of the buyer': acceptOrHold(({ facts }) => (facts.order.comment ?? '') === ''),
  'a field of the ERP': acceptOrLeave(({ facts }) => facts.customer?.extra?.tier === 'silver'),
  'a limit in a table': acceptOrHold((seen) => pieces(seen) <= (TABLE[country(seen)] ?? 0)),
  'young orders to the north': acceptOrHold(({ facts }) => {
    const isNorth = ['DK', 'SE', 'NO', 'FI'].includes(facts.order.country ?? '');
    return isNorth && (facts.order.age ?? 0) <= 30 * DAY_MS;
  }),
  'neither few nor many': acceptOrHold((seen) => pieces(seen) > 10 && pieces(seen) <= 40),
  'an exception of a hold': ({ facts, byRules }) => {
    if (byRules.kind !== 'hold' || byRules.rules.join() !== 'hold-price') return undefined;
    return facts.order.freight_type === 'Express' ? 'accept' : 'hold';
  },
};

/** Two clerks with two limits, which is no policy of the house. */
export const MIXTURE: Policy = uncovered((seen, clerk) =>
  pieces(seen) <= (clerk === 'ada' ? 15 : 40) ? 'accept' : 'hold',
);
