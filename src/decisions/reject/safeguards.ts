/**
 * The safeguards of a reject whose grace period is over, in the order in which they are checked.
 * The first one that objects turns the reject into a hold with its name as the reason, and says
 * what follows: wait and check again, decide again, leave the delivery to a person, or trip the
 * breaker.
 */
import type { Outcome } from '../../rules/combine.ts';
import type { Evaluation } from '../../rules/evaluate.ts';
import type { Rule, RuleSet } from '../../rules/rule.ts';
import type { Tx } from '../../store/store.ts';
import { nextOpening } from '../calendar.ts';
import type { Subject } from '../facts.ts';
import { waitsForChanges } from '../holds/changes.ts';
import type { DecisionMode, FreshnessMs } from '../judgement.ts';
import { hasManualDecision } from '../review/manual-decision.ts';
import { armedRuleIds } from './arming.ts';
import { breakerResetAt, readBreaker } from './breaker.ts';
import { capExceeded, countedOf } from './caps.ts';
import { failuresExceeded } from './finish-reject.ts';
import { notFresh } from './freshness.ts';
import type { RejectEntry } from './queue.ts';

export interface Inspection {
  readonly now: number;
  readonly mode: DecisionMode;
  readonly ruleSet: RuleSet;
  /** Rule that wanted the reject, if the set still has it. */
  readonly rule: Rule | undefined;
  readonly entry: RejectEntry;
  /** Delivery as the service showed it a moment ago. */
  readonly subject: Subject;
  readonly evaluation: Evaluation;
  readonly freshness: FreshnessMs;
}

export interface Objection {
  readonly safeguard: string;
  readonly detail: string;
  /**
   * Consequence of an objection. `wait`: the reject is checked again at `until`, or soon.
   * `decide-again`: the rules decide at once. `person`: the delivery is held for a person. `trip`:
   * the same, and no rule rejects until the breaker is reset.
   */
  readonly next: 'wait' | 'decide-again' | 'person' | 'trip';
  readonly until?: number | undefined;
}

type Safeguard = (
  tx: Tx,
  inspection: Inspection,
) => Promise<Objection | undefined> | Objection | undefined;

function modeSafeguard(_tx: Tx, { mode }: Inspection): Objection | undefined {
  if (mode === 'live') return undefined;
  return { safeguard: 'mode', detail: `the daemon only watches (mode ${mode})`, next: 'wait' };
}

async function personSafeguard(tx: Tx, { subject }: Inspection): Promise<Objection | undefined> {
  if (!(await hasManualDecision(tx, subject))) return undefined;
  return { safeguard: 'person', detail: 'a person has decided about it', next: 'person' };
}

async function breakerSafeguard(tx: Tx): Promise<Objection | undefined> {
  const breaker = await readBreaker(tx);
  if (!breaker) return undefined;
  const detail = `it tripped: ${breaker.safeguard}, ${breaker.detail}`;
  return { safeguard: 'breaker', detail, next: 'person' };
}

async function armingSafeguard(tx: Tx, inspection: Inspection): Promise<Objection | undefined> {
  const { entry, rule, ruleSet, now } = inspection;
  const changed = rule?.hash !== entry.ruleHash;
  if (!changed && (await armedRuleIds(tx, ruleSet, now)).has(entry.ruleId)) return undefined;
  const what = changed ? 'has changed' : 'is not armed any more';
  return { safeguard: 'arming', detail: `rule ${entry.ruleId} ${what}`, next: 'decide-again' };
}

function rereadSafeguard(_tx: Tx, { entry, subject }: Inspection): Objection | undefined {
  const { status, content_hash: contentHash } = subject.delivery;
  const [safeguard, next] = ['re-read', 'decide-again'] as const;
  if (status !== 'pending') return { safeguard, detail: `it is ${status} by now`, next };
  if (contentHash === entry.deliveryHash) return undefined;
  return { safeguard, detail: 'the delivery has changed while it waited', next };
}

function describe({ kind, rules, reason }: Outcome): string {
  return `${kind} by ${rules.join(', ') || 'no rule'}: ${reason}`;
}

async function changesSafeguard(
  tx: Tx,
  { ruleSet, subject }: Inspection,
): Promise<Objection | undefined> {
  const detail = await waitsForChanges(tx, ruleSet, subject);
  return detail === undefined ? undefined : { safeguard: 'changes', detail, next: 'wait' };
}

function rulesSafeguard(_tx: Tx, { entry, evaluation }: Inspection): Objection | undefined {
  const { live } = evaluation;
  if (live.kind === 'reject' && live.rules.includes(entry.ruleId)) return undefined;
  return {
    safeguard: 're-evaluation',
    detail: `the rules now say ${describe(live)}`,
    next: 'decide-again',
  };
}

async function freshnessSafeguard(tx: Tx, inspection: Inspection): Promise<Objection | undefined> {
  const { rule } = inspection;
  const detail = rule && (await notFresh(tx, rule, inspection));
  return detail === undefined ? undefined : { safeguard: 'freshness', detail, next: 'wait' };
}

function hoursSafeguard(_tx: Tx, { ruleSet, subject, now }: Inspection): Objection | undefined {
  const { business_hours_only: only } = ruleSet.settings.safeguards.reject;
  if (!only || subject.facts.clock.business_hours) return undefined;
  const detail = 'nobody is at work; it goes on when somebody is';
  return { safeguard: 'hours', detail, next: 'wait', until: nextOpening(now, ruleSet.settings) };
}

async function failuresSafeguard(
  tx: Tx,
  { ruleSet, now }: Inspection,
): Promise<Objection | undefined> {
  const since = await breakerResetAt(tx);
  const detail = await failuresExceeded(tx, ruleSet.settings, now, since);
  return detail === undefined ? undefined : { safeguard: 'failures', detail, next: 'trip' };
}

async function capSafeguard(tx: Tx, inspection: Inspection): Promise<Objection | undefined> {
  const { rule, ruleSet, subject, now } = inspection;
  if (!rule) return undefined;
  const counted = countedOf(subject.facts);
  const found = await capExceeded(tx, rule, counted, ruleSet.settings, now);
  return found && { ...found, next: 'trip' };
}

const SAFEGUARDS: readonly Safeguard[] = [
  modeSafeguard,
  rereadSafeguard,
  personSafeguard,
  breakerSafeguard,
  armingSafeguard,
  changesSafeguard,
  rulesSafeguard,
  freshnessSafeguard,
  hoursSafeguard,
  failuresSafeguard,
  capSafeguard,
];

/** The first objection of a safeguard to the reject; undefined: it may be sent. */
export async function firstObjection(
  tx: Tx,
  inspection: Inspection,
): Promise<Objection | undefined> {
  for (const safeguard of SAFEGUARDS) {
    const objection = await safeguard(tx, inspection);
    if (objection) return objection;
  }
  return undefined;
}
