/**
 * The safeguards of a reject whose grace period is over, in the order in which they are checked.
 * The first one that objects turns the reject into a hold with its name as the reason, and says
 * what follows: wait and check again, decide again, leave the delivery to a person, or trip the
 * breaker.
 */
import type { Evaluation } from '../../rules/evaluate.ts';
import type { Rule, RuleSet } from '../../rules/rule.ts';
import type { Tx } from '../../store/store.ts';
import { waitsForChanges } from '../accept/freshness.ts';
import { nextOpening } from '../calendar.ts';
import type { Subject } from '../facts.ts';
import { hasManualDecision } from '../journal.ts';
import type { DecisionMode, FreshnessMs } from '../judgement.ts';
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

/** Objection of a safeguard: its detail, with what differs from its row. */
type Found = string | (Pick<Objection, 'detail'> & Partial<Objection>) | undefined;

interface Safeguard {
  readonly name: string;
  readonly next: Objection['next'];
  readonly check: (tx: Tx, inspection: Inspection) => Promise<Found> | Found;
}

async function findArming(tx: Tx, { entry, rule, ruleSet, now }: Inspection): Promise<Found> {
  const changed = rule?.hash !== entry.ruleHash;
  if (!changed && (await armedRuleIds(tx, ruleSet, now)).has(entry.ruleId)) return undefined;
  return `rule ${entry.ruleId} ${changed ? 'has changed' : 'is not armed any more'}`;
}

function findReread(_tx: Tx, { entry, subject: { delivery } }: Inspection): Found {
  if (delivery.status !== 'pending') return `it is ${delivery.status} by now`;
  const isSame = delivery.content_hash === entry.deliveryHash;
  return isSame ? undefined : 'the delivery has changed while it waited';
}

function findRules(_tx: Tx, { entry, evaluation: { live } }: Inspection): Found {
  if (live.kind === 'reject' && live.rules.includes(entry.ruleId)) return undefined;
  return `the rules now say ${live.kind} by ${live.rules.join(', ') || 'no rule'}: ${live.reason}`;
}

function findHours(_tx: Tx, { ruleSet: { settings }, subject, now }: Inspection): Found {
  const { business_hours_only: only } = settings.safeguards.reject;
  if (!only || subject.facts.clock.business_hours) return undefined;
  const detail = 'nobody is at work; it goes on when somebody is';
  return { detail, until: nextOpening(now, settings) };
}

const SAFEGUARDS: readonly Safeguard[] = [
  {
    name: 'mode',
    next: 'wait',
    check: (_tx, { mode }) =>
      mode === 'live' ? undefined : `the daemon only watches (mode ${mode})`,
  },
  { name: 're-read', next: 'decide-again', check: findReread },
  {
    name: 'person',
    next: 'person',
    check: (_tx, { subject }) =>
      hasManualDecision(subject) ? 'a person has decided about it' : undefined,
  },
  {
    name: 'breaker',
    next: 'person',
    async check(tx) {
      const breaker = await readBreaker(tx);
      return breaker && `it tripped: ${breaker.safeguard}, ${breaker.detail}`;
    },
  },
  { name: 'arming', next: 'decide-again', check: findArming },
  {
    name: 'changes',
    next: 'wait',
    check: (tx, { ruleSet, subject }) => waitsForChanges(tx, ruleSet, subject),
  },
  { name: 're-evaluation', next: 'decide-again', check: findRules },
  {
    name: 'freshness',
    next: 'wait',
    check: (tx, inspection) => inspection.rule && notFresh(tx, inspection.rule, inspection),
  },
  { name: 'hours', next: 'wait', check: findHours },
  {
    name: 'failures',
    next: 'trip',
    check: async (tx, { ruleSet, now }) =>
      failuresExceeded(tx, ruleSet.settings, now, await breakerResetAt(tx)),
  },
  {
    name: 'cap',
    next: 'trip',
    check: (tx, { rule, ruleSet, subject, now }) =>
      rule && capExceeded(tx, rule, countedOf(subject.facts), ruleSet.settings, now),
  },
];

/** The first objection of a safeguard to the reject; undefined: it may be sent. */
export async function firstObjection(
  tx: Tx,
  inspection: Inspection,
): Promise<Objection | undefined> {
  for (const { name: safeguard, next, check } of SAFEGUARDS) {
    const found = await check(tx, inspection);
    const more = typeof found === 'string' ? { detail: found } : found;
    if (more !== undefined) return { safeguard, next, ...more };
  }
  return undefined;
}
