/**
 * A loaded rule and a loaded rule set: the interface between the loader and everything that
 * evaluates rules.
 */
import type { SetTypes } from './cel/environment.ts';
import type { OperandProgram } from './cel/operands.ts';
import type { Program } from './cel/program.ts';
import type { CelContext, Frame } from './facts/build.ts';
import type { LoadedSettings, LoadedTables } from './settings.ts';
import type { Problem } from './text/problem.ts';
import type { RawRule, RawScenario } from './text/schema.ts';
import type { Settings } from './text/settings-schema.ts';
import type { Span, Until } from './text/timing.ts';

export type Action = RawRule['action'];
export type Mode = NonNullable<RawRule['mode']>;

export interface Clause {
  readonly text: string;
  /** Line of the clause in the rule file, from 1. */
  readonly line: number;
  /** Whether the clause is under `unless` and so must be false. */
  readonly negated: boolean;
  readonly program: Program;
  readonly operands: readonly OperandProgram[];
  /** Sides of a condition `a || b`, each of which makes it true; empty for other conditions. */
  readonly alternatives: readonly Program[];
}

/** Timing of a hold: the event that it waits for, and its longest duration. */
export interface HoldTiming {
  readonly until?: Until | undefined;
  readonly atMost: Span;
  /** Consequence when the longest duration is over; never a reject. */
  readonly afterwards: 'escalate' | 're-evaluate' | 'accept' | 'release';
}

/**
 * Grace and limits of one reject rule; the limits of the settings apply as well, and the tighter
 * one wins.
 */
export interface RejectTiming {
  readonly graceMs: number;
  readonly maxPerHour?: number | undefined;
  readonly maxPerDay?: number | undefined;
  readonly maxPerCustomerPerDay?: number | undefined;
  /** Largest sum of rejected deliveries a day, in the currency of the orders. */
  readonly maxAmountPerDay?: number | undefined;
}

/** Renders a rule's message with facts in it; an unknown fact is shown as `?`. */
export type MessageTemplate = (frame: Frame) => string;

export interface Rule {
  readonly id: string;
  readonly title: string;
  readonly action: Action;
  readonly mode: Mode;
  readonly owner?: string | undefined;
  readonly file: string;
  readonly line: number;
  /**
   * SHA-256 of everything that has effect: conditions, timing, period, contents of the lists and
   * tables that are read, and for a reject rule the settings behind the facts that it reads.
   */
  readonly hash: string;
  /** Gives the hash with other contents of the lists. */
  readonly hashWith: (loaded: LoadedSettings) => string;
  /**
   * SHA-256 without contents of lists and tables or settings: a hold goes on when these are edited.
   */
  readonly textHash: string;
  readonly appliesTo: readonly ('pending' | 'accepted')[];
  /** Period, in epoch milliseconds, outside of which the rule counts as off. */
  readonly effectiveFrom?: number | undefined;
  readonly effectiveUntil?: number | undefined;
  readonly clauses: readonly Clause[];
  readonly hold?: HoldTiming | undefined;
  readonly reject?: RejectTiming | undefined;
  /**
   * Consequence for what a live reject rule matches while it may not reject. No part of the rule's
   * hash: it says nothing about what is rejected, so an armed rule stays armed.
   */
  readonly otherwise?: 'hold' | 'nothing' | undefined;
  readonly message?: MessageTemplate | undefined;
  readonly record: Readonly<Record<string, Program>>;
  /** Paths that the conditions read: `order.country`, `lists.closed_seasons`. */
  readonly reads: readonly string[];
  readonly tests: RawRule['tests'];
}

export interface RuleSet {
  /** SHA-256 of rules, modes, settings, lists, tables, fact table and engine version. */
  readonly hash: string;
  readonly rules: readonly Rule[];
  readonly settings: Settings;
  /** Tables that are CSV files, by name; a load of the same files takes them over. */
  readonly tables: LoadedTables;
  readonly scenarios: readonly RawScenario[];
  /** Gives `lists` and `tables` as conditions see them at a time, in epoch milliseconds. */
  readonly variables: (nowMs: number) => CelContext;
  /** Gives `lists` and `tables` as tests see them: lists from the database have their samples. */
  readonly samples: (nowMs: number) => CelContext;
  /** Types of lists, tables and the fields below `customer.extra`. */
  readonly types: SetTypes;
  readonly warnings: readonly Problem[];
}
