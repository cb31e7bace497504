/**
 * The schemas of rule files and of `scenarios.yaml`; unknown keys are refused. Editors get a JSON
 * Schema generated from the same schemas.
 */
import { z } from 'zod';
import { parseDuration, parseExactTime } from '../../lib/units.ts';
import { givenSchema } from './given.ts';
import { count, duration, mode, parseSpan, parseUntil } from './timing.ts';

/**
 * Maximum sizes of a rule set: tests of one rule, clauses of one rule, rules in one file. Beyond
 * these nobody keeps the overview.
 */
const TESTS_MAX = 200;
const CLAUSES_MAX = 30;
const RULES_MAX = 200;

/** Minimum grace of a reject in milliseconds, so that somebody can stop it. */
const GRACE_MS_MIN = 3_600_000;
const GRACE_DEFAULT = '24h';
const HOLD_AT_MOST_DEFAULT = '3 business days';

const TIME = 'write a time such as 2026-03-01T08:00:00Z';
const time = z.string(TIME).refine((text) => parseExactTime(text) !== undefined, TIME);
const id = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,60}$/, 'an id is lower-case letters, digits and hyphens');
const condition = z.string('a condition must be a text').min(1, 'a condition must not be empty');
const given = givenSchema();

const UNTIL = 'write "next business open", a duration such as 24h, or "customer.credit changes"';

const hold = z.strictObject({
  until: z
    .string(UNTIL)
    .refine((text) => parseUntil(text) !== undefined, UNTIL)
    .optional()
    .describe('What ends the hold: next business open, a duration, or "<fact> changes".'),
  at_most: z
    .string('write 48h or "2 business days"')
    .refine((text) => parseSpan(text) !== undefined, 'write 48h or "2 business days"')
    .default(HOLD_AT_MOST_DEFAULT)
    .describe('The longest a hold lasts: a duration, or "<n> business days".'),
  // A hold that lasted its time never leads to a reject, which has safeguards of its own.
  // biome-ignore lint/suspicious/noThenProperty: the word of the rule format, never awaited
  then: z
    .enum(['escalate', 're-evaluate', 'accept', 'release'])
    .default('escalate')
    .describe(
      'What happens when the hold has lasted its time; release lets the other rules decide.',
    ),
});

const reject = z.strictObject({
  grace: duration
    .refine((text) => (parseDuration(text) ?? 0) >= GRACE_MS_MIN, 'the grace is at least 1h')
    .default(GRACE_DEFAULT)
    .describe('Time between the decision and the reject, in which anybody may stop it.'),
  max_per_hour: count.optional(),
  max_per_day: count.optional(),
  max_per_customer_per_day: count.optional(),
  max_amount_per_day: z.number().positive().optional(),
});

/** Timing of hold and reject rules that have no such block. */
export const HOLD_DEFAULT = hold.parse({});
export const REJECT_DEFAULT = reject.parse({});

const ruleTest = z.strictObject({
  name: z.string().min(1),
  given: given.default({}),
  expect: z.enum(['accept', 'hold', 'reject', 'none', 'unknown']),
});

const rule = z.strictObject({
  id,
  title: z.string().min(1),
  action: z.enum(['accept', 'hold', 'reject']),
  mode: mode.optional().describe('off, shadow (watches only) or live; default shadow.'),
  owner: z.string().optional().describe('Who to ask about this rule.'),
  applies_to: z
    .array(z.enum(['pending', 'accepted']))
    .min(1)
    .default(['pending']),
  effective_from: time.optional(),
  effective_until: time.optional(),
  when: z.array(condition).min(1).max(CLAUSES_MAX).describe('All of these must hold.'),
  unless: z.array(condition).max(CLAUSES_MAX).default([]).describe('None of these may hold.'),
  hold: hold.optional(),
  reject: reject.optional(),
  otherwise: z
    .enum(['hold', 'nothing'])
    .optional()
    .describe('What a live reject rule does while it is not armed: hold (default) or nothing.'),
  message: z.string().optional().describe('Text for people; {{ }} holds a fact.'),
  record: z.record(z.string(), condition).default({}).describe('More values to journal.'),
  tests: z.array(ruleTest).max(TESTS_MAX).default([]),
});

/**
 * A lenient schema that reads a rule of the wrong shape, so that its conditions are still checked.
 */
const text = z.string().catch('true');
export const SALVAGED_RULE = rule.extend({
  id: z.string().catch('?'),
  title: z.string().catch('?'),
  action: z.enum(['accept', 'hold', 'reject']).catch('hold'),
  mode: mode.optional().catch(undefined),
  owner: z.undefined().catch(undefined),
  applies_to: z.array(z.enum(['pending', 'accepted'])).catch(['pending']),
  effective_from: z.undefined().catch(undefined),
  effective_until: z.undefined().catch(undefined),
  when: z.array(text).catch([]),
  unless: z.array(text).catch([]),
  hold: z.undefined().catch(undefined),
  reject: z.undefined().catch(undefined),
  otherwise: z.undefined().catch(undefined),
  message: z.string().optional().catch(undefined),
  record: z.record(z.string(), text).catch({}),
  tests: z.array(ruleTest).catch([]),
});

export const RULE_FILE = z.strictObject({ rules: z.array(rule).max(RULES_MAX) });

const scenario = z.strictObject({
  name: z.string().min(1),
  given: given.default({}),
  armed: z.array(id).default([]).describe('Ids of the reject rules that count as armed.'),
  expect: z.enum(['accept', 'hold', 'reject', 'no_rule']),
  rules: z.array(id).optional().describe('Ids of the rules that must have decided.'),
});

export const SCENARIO_FILE = z.strictObject({ scenarios: z.array(scenario).max(TESTS_MAX) });

export type RawRule = z.output<typeof rule>;
export type RawScenario = z.output<typeof scenario>;

/** JSON Schema of a rule file, for editors. */
export function rulesJsonSchema(): Record<string, unknown> {
  return { ...z.toJSONSchema(RULE_FILE, { io: 'input' }), title: 'Selvedge rules' };
}
