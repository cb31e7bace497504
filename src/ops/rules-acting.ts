/** How far the rules in force may go, as the daemon that has them in force notes it. */
import { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import { tryParseJson } from '../lib/json.ts';
import { readState, writeState } from '../store/state.ts';
import type { Db, Tx } from '../store/store.ts';

const KEY = 'rules_acting';

const acting = z.object({
  /** Mode in effect: that of the configuration, or `observe` while the rules have mistakes. */
  mode: z.enum(['observe', 'shadow', 'live']),
  /** Whether the rules are without mistakes; else the last good ones are in force. */
  valid: z.boolean(),
  /** Mode of the rule set (`mode` in its settings). */
  set: z.enum(['off', 'shadow', 'live']),
  rules: z.number(),
  /** How many of the rules are live by themselves. */
  live: z.number(),
});

export type RulesActing = Readonly<z.infer<typeof acting>>;

export function noteRulesActing(db: Db | Tx, note: RulesActing, clock: Clock): Promise<void> {
  return writeState(db, KEY, JSON.stringify(note), clock);
}

/** Reads the note; undefined while no daemon has had rules in force. */
export async function readRulesActing(db: Db): Promise<RulesActing | undefined> {
  const text = await readState(db, KEY);
  return text === undefined ? undefined : acting.safeParse(tryParseJson(text)).data;
}

function whyIdle({ mode, valid, set, rules, live }: RulesActing): string | undefined {
  if (rules === 0) return 'no rule is in force';
  if (!valid) return 'the rules have mistakes, the last good ones only observe';
  if (mode !== 'live') return `the rules only ${mode === 'observe' ? mode : 'watch'} (rules.mode)`;
  if (set !== 'live') return `the rules are ${set} by the mode in their settings`;
  return live === 0 ? `none of the ${rules} rules is live` : undefined;
}

/**
 * Says why nothing is sent that the rules decide, and how many of their decisions that concerns;
 * undefined: it is sent.
 */
export function describeIdle(
  note: RulesActing | null | undefined,
  pending: Readonly<Record<string, number>>,
): string | undefined {
  const why = note ? whyIdle(note) : undefined;
  if (why === undefined) return undefined;
  const kinds = ['accept', 'reject'].flatMap((kind) => {
    const count = pending[kind] ?? 0;
    return count === 0 ? [] : [`${count} ${kind}${count === 1 ? '' : 's'}`];
  });
  return kinds.length === 0 ? why : `${why}: ${kinds.join(' and ')} not sent`;
}
