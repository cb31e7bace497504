/**
 * Whether an accept had been waited for. The facts of an example are those of the first decision:
 * what people accepted only once the customer had paid, the goods were there, or a hold had ended
 * is no accept of what came.
 */
import { completeLine } from '../rules/facts/build.ts';
import type { Facts } from '../rules/facts/plain.ts';

/** Pieces that the free stock does not cover, the most of any line. */
function missingIn({ delivery }: Facts): number | null {
  const known = delivery.lines.flatMap((line) => completeLine(line).missing ?? []);
  return known.length === 0 ? null : Math.max(...known);
}

/** Obstacles to an accept: the more of one, the more it is; null: not known. */
const OBSTACLES: readonly ((facts: Facts) => number | null)[] = [
  missingIn,
  ({ order }) => negative(numberOf(order.address_complete)),
  ({ customer }) => numberOf(customer?.blocked),
  ({ customer }) => customer?.credit?.overdue_days ?? null,
  ({ delivery, customer }) => {
    const { headroom } = customer?.credit ?? {};
    if (typeof delivery.amount !== 'number' || typeof headroom !== 'number') return null;
    return Math.max(0, delivery.amount - headroom);
  },
];

function negative(value: number | null): number | null {
  return value === null ? null : -value;
}

function numberOf(value: boolean | null | undefined): number | null {
  return typeof value === 'boolean' ? Number(value) : null;
}

/** Whether something that stood in the way at first does so less; both facts are complete. */
export function hasImproved(first: Facts, then: Facts): boolean {
  return OBSTACLES.some((read) => {
    const [before, after] = [read(first), read(then)];
    return before !== null && after !== null && after < before;
  });
}
