/** A loaded rule and a loaded rule set: what the loader promises to everybody who evaluates. */
import type { SetTypes } from './cel/environment.ts';
import type { OperandProgram } from './cel/operands.ts';
import type { CelContext, Program } from './cel/program.ts';
import type { Problem } from './text/problem.ts';
import type { RawRule, RawScenario } from './text/schema.ts';
import type { Settings } from './text/settings-schema.ts';
import type { Span, Until } from './text/timing.ts';

export type Action = RawRule['action'];
export type Mode = NonNullable<RawRule['mode']>;

export interface Clause {
  readonly text: string;
  /** Place in the file, from 1. */
  readonly line: number;
  /** `unless` clauses must be false. */
  readonly negated: boolean;
  readonly program: Program;
  readonly operands: readonly OperandProgram[];
  /** The sides of a condition `a || b`, which any of them makes true; else none. */
  readonly alternatives: readonly Program[];
}

/** The end of a hold: the event it waits for, and its longest duration. */
export interface HoldTiming {
  readonly until?: Until | undefined;
  readonly atMost: Span;
  /** The step when the time is up; never a reject. */
  readonly afterwards: 'escalate' | 're-evaluate' | 'accept' | 'release';
}

/** Limits of one reject rule; those of the set hold as well, and the tighter one wins. */
export interface RejectTiming {
  readonly graceMs: number;
  readonly maxPerHour?: number | undefined;
  readonly maxPerDay?: number | undefined;
  readonly maxPerCustomerPerDay?: number | undefined;
  /** In the currency of the orders. */
  readonly maxAmountPerDay?: number | undefined;
}

/** Text with facts in it; a missing fact is shown as `?`. */
export type MessageTemplate = (context: CelContext) => string;

export interface Rule {
  readonly id: string;
  readonly title: string;
  readonly action: Action;
  readonly mode: Mode;
  readonly owner?: string | undefined;
  readonly file: string;
  readonly line: number;
  /**
   * SHA-256 of what has effect: conditions, timing, times, the lists and tables read and, of a
   * reject rule, the settings behind the facts that it reads.
   */
  readonly hash: string;
  /**
   * The same without the values of lists and tables: a hold goes on when these are edited.
   */
  readonly textHash: string;
  readonly appliesTo: readonly ('pending' | 'accepted')[];
  /** Epoch ms; outside of these the rule is as if it were off. */
  readonly effectiveFrom?: number | undefined;
  readonly effectiveUntil?: number | undefined;
  readonly clauses: readonly Clause[];
  readonly hold?: HoldTiming | undefined;
  readonly reject?: RejectTiming | undefined;
  readonly message?: MessageTemplate | undefined;
  readonly record: Readonly<Record<string, Program>>;
  /** Paths of facts, lists and tables that decide: `order.country`, `lists.closed_seasons`. */
  readonly reads: readonly string[];
  readonly tests: RawRule['tests'];
}

export interface RuleSet {
  /** SHA-256 over rules, modes, settings, lists, tables, fact table and engine version. */
  readonly hash: string;
  readonly rules: readonly Rule[];
  readonly settings: Settings;
  readonly scenarios: readonly RawScenario[];
  /** `lists` and `tables` as the conditions see them at a time, in epoch milliseconds. */
  readonly variables: (nowMs: number) => CelContext;
  /** The same with the samples of lists that are read from the database: what tests see. */
  readonly samples: (nowMs: number) => CelContext;
  /** Types of the lists, the tables and the fields below `customer.extra`. */
  readonly types: SetTypes;
  readonly warnings: readonly Problem[];
}
