/** The rules of a seed, in two texts that people put in force by turns, and what they mean. */
import { stringify } from 'yaml';

export interface Case {
  readonly quantity: number;
  readonly comment: string;
  readonly isBlocked: boolean;
  /** Free stock is enough for it. */
  readonly isCovered: boolean;
}

/** Pieces up to which a delivery is small, by text. */
const SMALL = { wide: 12, narrow: 8 } as const;
export type Text = keyof typeof SMALL;

const LARGE = 30;
export const GRACE_MS = 3_600_000;
export const PER_HOUR_MAX = 4;

/** By its rule; undefined: none of them accepts or rejects it. */
export function meaningOf(text: Text, one: Case): string | undefined {
  const { quantity, comment, isBlocked, isCovered } = one;
  if (quantity > LARGE) return undefined;
  const isSmall = quantity <= SMALL[text];
  if (isBlocked) return isSmall ? 'reject-blocked' : undefined;
  if (comment === 'keep') return 'accept-kept';
  if (!isSmall) return 'reject-middle';
  if (comment === 'over') return isCovered ? undefined : 'reject-short';
  return isCovered ? 'accept-small' : undefined;
}

export const REJECTS = ['reject-middle', 'reject-blocked', 'reject-short'] as const;

export function rulesText(text: Text): string {
  const small = SMALL[text];
  const given = (quantity: number, comment: string, blocked: boolean) => ({
    ...{ delivery: { quantity }, order: { comment }, customer: { blocked } },
  });
  const test = (name: string, facts: object, expect: string) => ({ name, given: facts, expect });
  const live = (id: string, action: string, more: object) => ({
    ...{ id, title: id.replace('-', ' '), action, mode: 'live', ...more },
  });
  const blocked = 'customer.blocked';
  const kept = 'order.comment == "keep"';
  const over = 'order.comment == "over"';
  const short = 'delivery.lines.exists(line, line.missing > 0)';
  const few = (quantity: number, free: number, comment: string, isBlocked: boolean) => ({
    ...given(quantity, comment, isBlocked),
    delivery: { lines: [{ quantity, stock_free: free }] },
  });
  return stringify({
    rules: [
      live('accept-small', 'accept', {
        when: [`delivery.quantity <= ${small}`, 'delivery.lines.all(line, line.missing == 0)'],
        unless: [blocked, kept, over],
      }),
      live('hold-last', 'hold', {
        when: [over, `delivery.quantity <= ${small}`],
        unless: [blocked, short],
      }),
      live('hold-short', 'hold', {
        when: [`delivery.quantity <= ${small}`, short],
        unless: [blocked, kept, over],
      }),
      live('accept-kept', 'accept', {
        when: [kept, `delivery.quantity <= ${LARGE}`],
        unless: [blocked],
      }),
      live('hold-large', 'hold', { when: [`delivery.quantity > ${LARGE}`] }),
      live('hold-blocked', 'hold', {
        when: [blocked, `delivery.quantity > ${small}`],
      }),
      live('reject-middle', 'reject', {
        when: [`delivery.quantity > ${small}`, `delivery.quantity <= ${LARGE}`],
        unless: [kept, blocked],
        reject: { grace: '1h' },
        tests: [
          test('in the middle', given(LARGE, '', false), 'reject'),
          test('small', given(small, '', false), 'none'),
          test('large', given(LARGE + 1, '', false), 'none'),
          test('wanted', given(LARGE, 'keep', false), 'none'),
          test('blocked', given(LARGE, '', true), 'none'),
        ],
      }),
      live('reject-blocked', 'reject', {
        when: [`delivery.quantity <= ${small}`, blocked],
        reject: { grace: '1h' },
        tests: [
          test('blocked', given(small, '', true), 'reject'),
          test('blocked and more', given(small + 1, '', true), 'none'),
          test('a good one', given(small, '', false), 'none'),
        ],
      }),
      live('reject-short', 'reject', {
        when: [over, `delivery.quantity <= ${small}`, short],
        unless: [blocked],
        reject: { grace: '1h' },
        tests: [
          test('short', few(small, small - 1, 'over', false), 'reject'),
          test('covered', few(small, small, 'over', false), 'none'),
          test('not over', few(small, small - 1, '', false), 'none'),
          test('more', few(small + 1, small, 'over', false), 'none'),
          test('blocked', few(small, small - 1, 'over', true), 'none'),
        ],
      }),
    ],
  });
}

export function settingsText(): string {
  const reject = {
    ...{ max_per_hour: PER_HOUR_MAX, max_per_day: 20, max_per_customer_per_day: 20 },
    ...{ max_share_of_day: 100, share_floor: 100, median_floor: 100, times_median: 100 },
    ...{ matches_seen: 1, business_hours_only: false },
  };
  return stringify({ version: 1, safeguards: { reject, accept: { refused_in_a_row: 1_000 } } });
}
