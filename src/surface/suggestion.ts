/**
 * Proposals: rules, and exceptions of rules, that would have done what people decided. A proposal
 * is a draft for people; nothing here changes the rules in force.
 */
import { z } from 'zod';
import { as, oneOf, text, time, whole } from './members.ts';

const words = (title: string) => as(z.string(), title, 'text');
const texts = z.array(z.string()).readonly();
const KINDS = ['accept', 'hold', 'unless'] as const;
const kind = z.enum(KINDS);

const stake = z
  .strictObject({
    deliveries: z.int(),
    /** By currency, `?` is one that is not known; null: the sum is too large to be exact. */
    amounts: z.record(z.string(), z.number().nullable()).readonly(),
  })
  .readonly()
  .meta({ id: 'SuggestionStake', description: 'Deliveries, and sums of their values by currency' });
export type Stake = z.output<typeof stake>;

/** Decisions of people on the deliveries that a proposal is about, in a part of the period. */
const evidence = z
  .strictObject({
    since: time('Since'),
    until: time('Until'),
    /** Decided as the proposal would. */
    agreed: stake,
    disagreed: stake,
    /** Left alone, or not decided yet. */
    undecided: stake,
    acts: z.int().meta({ description: 'One act on many deliveries counts once' }),
    otherwise: z.int().meta({ description: 'Acts that decided otherwise' }),
  })
  .readonly()
  .meta({ id: 'SuggestionEvidence' });
export type Evidence = z.output<typeof evidence>;

const decided = z.enum(['accept', 'hold', 'reject']);
export type Decided = z.output<typeof decided>;

/** A delivery about which people decided otherwise than the proposal would. */
const counterexample = z.strictObject({
  orderDeliveryId: z.int().min(1),
  deliveryNo: z.string(),
  /** The decision of the person. */
  decisionId: z.int().min(1),
  at: time('Decided'),
  decided,
});
export type Counterexample = z.output<typeof counterexample>;

const outcome = z.enum(['accept', 'reject', 'hold', 'release', 'no_rule']);

/** Deliveries that end otherwise in a backtest of the rules in force with the proposal, live. */
const claimedChange = z.strictObject({ from: outcome, to: outcome, ...stake.unwrap().shape });
export type ClaimedChange = z.output<typeof claimedChange>;

export type ProposalKind = z.output<typeof kind>;

export const proposal = {
  /** Id of the proposed rule, or of the rule that gets an exception. */
  id: text('Rule', { isCode: true }),
  kind: oneOf('Proposal', KINDS, {
    words: { accept: 'accept', hold: 'hold', unless: 'exception' },
  }),
  title: words('Conditions'),
  errorMax: z.number().meta({ description: 'Share of acts that may be wrong (one-sided, 95 %)' }),
  /** Most that this may be for a proposal of its kind. */
  errorAllowed: z.number(),
  days: whole('Days'),
  people: whole('People'),
  customers: whole('Customers'),
  /** Day on which somebody should look at it again (ISO); null: it accepts nothing. */
  lookAgainOn: words('Look again on').nullable(),
  /** Conditions, which are all true together. */
  conditions: texts,
  text: z.string().meta({ description: 'Rule file for a trial' }),
  draft: z.string().meta({ description: 'Rule file to keep, in shadow' }),
  learned: evidence,
  checked: evidence,
  counterexamples: z.array(counterexample).readonly(),
  backtest: z.array(claimedChange).readonly(),
};
const proposalSchema = z.strictObject(proposal);
export type Proposal = z.output<typeof proposalSchema>;

const refusalCode = z.enum([
  'few_acts',
  'few_days',
  'one_person',
  'one_customer',
  'left_alone',
  'unsure',
  'chance',
  'covered',
  'against_rules',
  'two_ways',
  'untestable',
]);
export type RefusalCode = z.output<typeof refusalCode>;

/** A regularity that is no proposal, with the reason. */
const refusal = z.strictObject({
  kind,
  /** Live rule that would get the exception; null: a new rule. */
  rule: z.string().nullable(),
  conditions: texts,
  code: refusalCode,
  why: z.string(),
});
export type Refusal = z.output<typeof refusal>;

/** A cell in which people decide like deliveries in two ways. */
const twoWays = z.strictObject({
  /** Live rule that held the deliveries; null: no rule applied. */
  rule: z.string().nullable(),
  /** Conditions of the cell; none: everything. */
  conditions: texts,
  /** Groups of people, without names; the number of their acts, and of those that accepted. */
  ways: z
    .array(
      z.strictObject({
        roles: texts,
        people: z.int(),
        acts: z.int(),
        accepted: z.int(),
      }),
    )
    .readonly(),
});
export type TwoWays = z.output<typeof twoWays>;

/** How people decided what a live hold rule held. */
const overruled = z.strictObject({
  rule: z.string(),
  title: z.string(),
  held: z.int(),
  /** Held by this rule alone. */
  alone: z.int(),
  accepted: z.int(),
  rejected: z.int(),
  kept: z.int(),
});
export type Overruled = z.output<typeof overruled>;

/** Figures and remarks beside the proposals. */
export const beside = {
  since: time('Since'),
  until: time('Until'),
  /** Where the part ends on which was learned; the rest was looked at once. */
  learnedUntil: time('Learned until'),
  /** Hash of the rules in force. */
  rules: z.string(),
  /** Deliveries whose decision by a person counts. */
  decided: z.int(),
  undecided: z.int(),
  /** Acts of people behind the decided ones. */
  acts: z.int(),
  covered: z.int().meta({ description: 'Decided by people, and by the rules in force now' }),
  refused: z.array(refusal).readonly(),
  twoWays: z.array(twoWays).readonly(),
  overruled: z.array(overruled).readonly(),
  /** Facts that were not asked, because some decisions did not gather them. */
  notGathered: texts,
};
export const besideSchema = z.strictObject(beside);
export type Beside = z.output<typeof besideSchema>;

export interface Suggestion extends Beside {
  readonly proposals: readonly Proposal[];
}

export interface SuggestOptions {
  readonly since: number;
  readonly until: number;
  /** Owner that new rules name; of the rules in force only those of this owner are looked at. */
  readonly owner?: string | undefined;
}
