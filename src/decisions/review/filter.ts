/** The filter of deliveries, as people and programs state it, and as the review list reads it. */
import { z } from 'zod';
import { WORDS } from '../../config/words.ts';
import { as, flag, hours, oneOf } from '../../surface/members.ts';
import { ME, NOBODY } from './note.ts';

/**
 * States by which the list is filtered: of the delivery, of its latest decision, or of its push.
 */
export const SHOWN = [
  'waiting',
  'held',
  'uncovered',
  'undecided',
  'pending',
  'accepted',
  'rejected',
  'canceled',
  'refused',
  'all',
] as const;
export type Shown = (typeof SHOWN)[number];

const TEXT_CHARS_MAX = 200;

function words(title: string, about: string, option?: string) {
  const schema = z.string().trim().max(TEXT_CHARS_MAX);
  return as(schema, title, 'text', { about, ...(option !== undefined && { option }) }).optional();
}

function amount(title: string, about: string) {
  return as(z.number().min(0), title, 'money', { about, option: `${title} <value>` }).optional();
}

export const reviewFilter = {
  // Commands have flags of their own for it; acts on many are on what is held unless they say more.
  shown: oneOf('Show', SHOWN, { option: '', words: WORDS.shown }).default('held'),
  rule: words('Rule', 'only those that this rule decides'),
  owner: words('Owner', 'only those that a rule of this owner decides'),
  country: words('Country', 'only of customers in this country', 'country <code>'),
  customer: words(
    'Customer',
    'only of this customer: the number, or a part of the name',
    'customer <accountNo>',
  ),
  season: words('Season', 'only of this season', 'season <name>'),
  currency: words('Currency', 'only in this currency', 'currency <code>'),
  min: amount('min', 'only worth as much, or more'),
  max: amount('max', 'only worth as much, or less'),
  older: hours('Waits for hours', {
    about: 'only those that have waited as long',
    option: 'older <duration>',
  }).optional(),
  assigned: words(
    'Assigned to',
    'only those that this person sees to; me: you, nobody: no person does',
    'assigned <name>',
  ),
  overdue: flag('Overdue', { about: 'only those whose hold has lasted its time' }).optional(),
  q: words(
    'Customer or number',
    'only with this in a number, the reference or the customer',
    'search <text>',
  ),
};

export const reviewQuery = z.strictObject(reviewFilter);
export type ReviewQuery = z.output<typeof reviewQuery>;

export interface ReviewFilter {
  readonly shown: Shown;
  /** Id of a rule that led to the decision. */
  readonly rule?: string | undefined;
  /** Ids of all rules of one owner; at least one of them led to the decision. */
  readonly rules?: readonly string[] | undefined;
  readonly country?: string | undefined;
  /** Account number of the customer, or a part of the name where no number is that. */
  readonly customer?: string | undefined;
  readonly season?: string | undefined;
  readonly currency?: string | undefined;
  /** Least value of the delivery, in the currency of the order; `max` is the greatest. */
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  /** Time before which the delivery was packed, in epoch milliseconds. */
  readonly packedBefore?: number | undefined;
  /** Shows only deliveries whose hold has lasted its time. */
  readonly overdue?: boolean | undefined;
  /**
   * Text that the number or name of the delivery, order or customer, or the order's reference,
   * contains.
   */
  readonly q?: string | undefined;
  /** Name of the person who sees to it; null: nobody does. */
  readonly assigned?: string | null | undefined;
  /** Ids of the only deliveries that are meant, wherever they are in the list. */
  readonly ids?: readonly number[] | undefined;
  /** The reader may not see names, so nothing is found or sorted by them. */
  readonly isMasked?: boolean | undefined;
}

/** Ids of rules by their owner. */
export type OwnersOfRules = ReadonlyMap<string, readonly string[]>;

/** Owners of rules, each with the rules that name it. */
export function ownersOf(
  rules: readonly { readonly id: string; readonly owner?: string | undefined }[],
): OwnersOfRules {
  const owned = rules.flatMap(({ id, owner }) => (owner === undefined ? [] : [{ id, owner }]));
  const byOwner = Map.groupBy(owned, ({ owner }) => owner);
  return new Map([...byOwner].map(([owner, of]) => [owner, of.map(({ id }) => id)]));
}

/** Deliveries that lists show by default: all that wait for a person. */
export const LIST_SHOWN: Shown = 'waiting';

/** The filter of lists. */
export const listFilter = {
  ...reviewFilter,
  shown: oneOf('Show', SHOWN, { option: '', words: WORDS.shown }).default(LIST_SHOWN),
};

const HOUR_MS = 3_600_000;

export function filterOf(
  { older, owner, assigned: to, ...query }: ReviewQuery,
  now: number,
  owners: OwnersOfRules,
  { seesAddresses, me }: { readonly seesAddresses: boolean; readonly me: string },
): ReviewFilter {
  const named = to === ME ? me : to;
  return {
    ...query,
    assigned: to === NOBODY ? null : named,
    isMasked: !seesAddresses,
    rules: owner === undefined ? undefined : (owners.get(owner) ?? []),
    packedBefore: older === undefined ? undefined : now - older * HOUR_MS,
  };
}
