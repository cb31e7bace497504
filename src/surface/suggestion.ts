/**
 * Proposals: rules, and exceptions of rules, that would have done what people decided. A proposal
 * is a draft for people; nothing here changes the rules in force.
 */
import type { DecisionOutcome } from '../store/tables.ts';

/** Number of deliveries and the sums of their values. */
export interface Stake {
  readonly deliveries: number;
  /** By currency, `?` is one that is not known; null: the sum is too large to be exact. */
  readonly amounts: Readonly<Record<string, number | null>>;
}

/** Decisions of people on the deliveries that a proposal is about, in a part of the period. */
export interface Evidence {
  readonly since: number;
  readonly until: number;
  /** Decided as the proposal would. */
  readonly agreed: Stake;
  readonly disagreed: Stake;
  /** Left alone, or not decided yet. */
  readonly undecided: Stake;
  /** Acts of people behind the first two: one on many deliveries counts once. */
  readonly acts: number;
  /** Acts among them that decided otherwise. */
  readonly otherwise: number;
}

/** A delivery about which people decided otherwise than the proposal would. */
export interface Counterexample {
  readonly orderDeliveryId: number;
  readonly deliveryNo: string;
  /** The decision of the person. */
  readonly decisionId: number;
  readonly at: number;
  readonly decided: Decided;
}

export type Decided = 'accept' | 'hold' | 'reject';

/** Deliveries that end otherwise in a backtest of the rules in force with the proposal, live. */
export interface ClaimedChange extends Stake {
  readonly from: DecisionOutcome;
  readonly to: DecisionOutcome;
}

export type ProposalKind = 'accept' | 'hold' | 'unless';

export interface Proposal {
  /** Id of the proposed rule, or of the rule that gets an exception. */
  readonly id: string;
  readonly kind: ProposalKind;
  readonly title: string;
  /** Conditions, which are all true together. */
  readonly conditions: readonly string[];
  /** File of rules to try: the new rule in shadow, or the rule with its exception. */
  readonly text: string;
  /** File of rules to keep: always in shadow, beside the rules in force. */
  readonly draft: string;
  readonly learned: Evidence;
  readonly checked: Evidence;
  /** Share of acts that may be wrong, at most: the one-sided 95 % bound on the later part. */
  readonly errorMax: number;
  /** Most that this may be for a proposal of its kind. */
  readonly errorAllowed: number;
  readonly days: number;
  readonly people: number;
  readonly customers: number;
  readonly counterexamples: readonly Counterexample[];
  readonly backtest: readonly ClaimedChange[];
  /** Day on which somebody should look at it again (ISO); null: it accepts nothing. */
  readonly lookAgainOn: string | null;
}

export const REFUSALS = [
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
] as const;
export type RefusalCode = (typeof REFUSALS)[number];

/** A regularity that is no proposal, with the reason. */
export interface Refusal {
  readonly kind: ProposalKind;
  /** Live rule that would get the exception; null: a new rule. */
  readonly rule: string | null;
  readonly conditions: readonly string[];
  readonly code: RefusalCode;
  readonly why: string;
}

/** A cell in which people decide like deliveries in two ways. */
export interface TwoWays {
  /** Live rule that held the deliveries; null: no rule applied. */
  readonly rule: string | null;
  /** Conditions of the cell; none: everything. */
  readonly conditions: readonly string[];
  /** Groups of people, without names; the share that accepted, and their acts. */
  readonly ways: readonly {
    readonly roles: readonly string[];
    readonly people: number;
    readonly acts: number;
    readonly accepted: number;
  }[];
}

/** How people decided what a live hold rule held. */
export interface Overruled {
  readonly rule: string;
  readonly title: string;
  readonly held: number;
  /** Held by this rule alone. */
  readonly alone: number;
  readonly accepted: number;
  readonly rejected: number;
  readonly kept: number;
}

export interface Suggestion {
  readonly since: number;
  readonly until: number;
  /** Where the part ends on which was learned; the rest was looked at once. */
  readonly learnedUntil: number;
  /** Hash of the rules in force. */
  readonly rules: string;
  /** Deliveries whose decision by a person counts. */
  readonly decided: number;
  readonly undecided: number;
  /** Acts of people behind the decided ones. */
  readonly acts: number;
  /** Decided by people, though the rules in force decide them now. */
  readonly covered: number;
  readonly proposals: readonly Proposal[];
  readonly refused: readonly Refusal[];
  readonly twoWays: readonly TwoWays[];
  readonly overruled: readonly Overruled[];
  /** Facts that were not asked, because some decisions did not gather them. */
  readonly notGathered: readonly string[];
}

export interface SuggestOptions {
  readonly since: number;
  readonly until: number;
  /** Owner that new rules name; of the rules in force only those of this owner are looked at. */
  readonly owner?: string | undefined;
}
