/** Judges a delivery by a set, after the table "How rules work together" of docs/rules.md. */
import type { Facts } from '../../../src/rules/facts/plain.ts';
import type { Fact } from './pages.ts';
import { joined, type Setting, truthOf } from './reading.ts';
import { cellAt, type Meant, type Mode, type RandomSet } from './sets.ts';
import { isBelowZero } from './world.ts';

interface Judged {
  readonly kind: 'accept' | 'hold' | 'reject' | 'no_rule';
  /** The rules that decided. */
  readonly rules: readonly string[];
}

export interface Verdict {
  /** Each rule that is asked, with its value. */
  readonly values: Readonly<Record<string, boolean | undefined>>;
  readonly live: Judged;
  /** With shadow rules as if they were live. */
  readonly shadow: Judged;
}

export interface Moment {
  readonly armed: ReadonlySet<string>;
  /** Hold rules that held this delivery for their time. */
  readonly lapsed: ReadonlySet<string>;
  /** The mode of the daemon, as far as it weakens the set. */
  readonly daemon: Mode;
}

const STRENGTH: readonly Mode[] = ['off', 'shadow', 'live'];

function weakest(...modes: readonly Mode[]): Mode {
  return STRENGTH.find((mode) => modes.includes(mode)) ?? 'off';
}

interface Asked {
  readonly rule: Meant;
  readonly mode: Mode;
  readonly value: boolean | undefined;
  /** Whether it may do what its action says. */
  readonly isArmed: boolean;
}

function settingOf(set: RandomSet, facts: ReadonlyMap<string, Fact>, delivery: Facts): Setting {
  return {
    facts,
    delivery,
    list: (name) => set.lists[name] ?? [],
    cell: (name, keys) => cellAt(set, delivery.clock.now, name, keys),
  };
}

function valueOfRule({ when, unless }: Meant, setting: Setting): boolean | undefined {
  const not = unless.map((one) => {
    const is = truthOf(setting, one);
    return is === undefined ? undefined : !is;
  });
  return joined([...when.map((one) => truthOf(setting, one)), ...not], false);
}

function isAsked({ appliesTo, from, until }: Meant, { delivery, clock }: Facts): boolean {
  const isTime =
    (from === undefined || clock.now >= from) && (until === undefined || clock.now < until);
  return isTime && appliesTo.includes(delivery.status);
}

function together(
  asked: readonly Asked[],
  { lapsed }: Moment,
  facts: Facts,
  which: 'live' | 'shadow',
): Judged {
  const doing = ({ rule, value }: Asked): string => {
    const isOver = rule.action === 'hold' && lapsed.has(rule.id) && value === true;
    return isOver && /^(accept|release)$/.test(rule.afterwards) ? rule.afterwards : rule.action;
  };
  const ids = (some: readonly Asked[]) => some.map(({ rule }) => rule.id).sort();
  const matched = (action: string) =>
    asked.filter((one) => one.value === true && doing(one) === action);
  const [holds, rejects, accepts] = [matched('hold'), matched('reject'), matched('accept')];
  if (holds.length > 0) return { kind: 'hold', rules: ids(holds) };
  const { lines, unread } = facts.delivery;
  if ((unread ?? []).length > 0 || lines.length === 0 || isBelowZero(facts)) {
    return { kind: 'hold', rules: [] };
  }
  const unarmed = rejects.filter(({ isArmed }) => !isArmed && which === 'live');
  if (unarmed.length > 0) return { kind: 'hold', rules: ids(unarmed) };
  const unclear = asked.filter(
    ({ rule, value }) => value === undefined && rule.action !== 'accept',
  );
  if (unclear.length > 0) return { kind: 'hold', rules: ids(unclear) };
  if (rejects.length > 0 && accepts.length > 0) {
    return { kind: 'hold', rules: ids([...rejects, ...accepts]) };
  }
  if (rejects.length > 0) return { kind: 'reject', rules: ids(rejects) };
  return accepts.length > 0
    ? { kind: 'accept', rules: ids(accepts) }
    : { kind: 'no_rule', rules: [] };
}

export function judge(
  set: RandomSet,
  facts: ReadonlyMap<string, Fact>,
  delivery: Facts,
  moment: Moment,
): Verdict {
  const setting = settingOf(set, facts, delivery);
  const ofSet = weakest(set.mode, moment.daemon);
  const asked = set.rules.flatMap((rule): readonly Asked[] => {
    const isArmed = rule.action !== 'reject' || moment.armed.has(rule.id);
    const watches = !isArmed && rule.otherwise === 'nothing';
    const mode = weakest(rule.mode, ofSet, watches ? 'shadow' : 'live');
    if (mode === 'off' || !isAsked(rule, delivery)) return [];
    return [{ rule, mode, value: valueOfRule(rule, setting), isArmed }];
  });
  const live = asked.filter(({ mode }) => mode === 'live');
  return {
    values: Object.fromEntries(asked.map(({ rule, value }) => [rule.id, value])),
    live:
      ofSet === 'live' ? together(live, moment, delivery, 'live') : { kind: 'no_rule', rules: [] },
    shadow: together(asked, moment, delivery, 'shadow'),
  };
}
