/** Acts of people and programs on rules: reload, the arming of rejects, and their breaker. */
import { z } from 'zod';
import { plural } from '../../lib/strings.ts';
import type { Actor } from '../../store/audit.ts';
import { act } from '../../surface/acts.ts';
import { invalid } from '../../surface/given.ts';
import { as, text, time } from '../../surface/members.ts';
import type { RejectOperations } from './arm.ts';

const HASH_CHARS = 12;
const DAY_MS = 86_400_000;
const ARMED_DAYS = 90;
/** Most days for which a rule can be armed: after a year, somebody must look again. */
const ARMED_DAYS_MAX = 366;
const ARMED_MS_MIN = 60_000;
const ARMED_FOR = 'must be from 1m to 366d';
const DECISIONS_MAX = 500;

const names = z.array(z.string()).readonly();
const counts = z.partialRecord(z.enum(['accept', 'hold', 'reject']), z.int());
const fromTo = z.strictObject({ from: z.string(), to: z.string() });
export const difference = z.strictObject({
  path: z.string(),
  before: z.unknown().optional(),
  after: z.unknown().optional(),
});

export const ruleSetDiff = z
  .strictObject({
    from: z.string(),
    to: z.string(),
    added: names,
    removed: names,
    changed: z
      .array(z.strictObject({ id: z.string(), differences: z.array(difference).readonly() }))
      .readonly(),
    settings: z.array(difference).readonly(),
  })
  .meta({ id: 'RuleSetDiff', description: 'Differences in effect.' });

export const reloadSchema = z
  .strictObject({
    diff: ruleSetDiff,
    counts: z.strictObject({ go: counts, come: counts }),
    disarmed: names,
    mode: fromTo,
    directory: fromTo,
    restart: names,
    unread: names,
    notArmed: z.strictObject({ rules: names, deliveries: z.int() }).meta({
      description: 'Live reject rules that hold what they match, and the waiting deliveries of it',
    }),
  })
  .meta({ id: 'Reloaded' });

export type Reload = z.output<typeof reloadSchema>;

/** State of rules and configuration that a person agreed to. */
export interface AgreedRules {
  /** Hash of the rule set. */
  readonly rules: string;
  readonly mode: string;
}

export interface RuleOperations {
  readonly rejects: RejectOperations;
  /** Preview of a reload; throws a ConfigError that names every mistake. */
  readonly preview: () => Promise<Reload>;
  readonly reload: (who: Actor, agreed?: AgreedRules) => Promise<Reload>;
}

function countTexts(of: Reload['counts']['go'], one: string, many: string): readonly string[] {
  return Object.entries(of).map(([action, count = 0]) =>
    count === 1 ? `1 ${action} rule ${one}` : `${count} ${action} rules ${many}`,
  );
}

/** Summarizes on one line what a reload changes; undefined when nothing does. */
export function reloadSummary({ diff, counts: { go, come }, mode, directory, disarmed }: Reload) {
  const turned = diff.changed.flatMap(({ id, differences }) =>
    differences
      .filter(({ path }) => path === 'mode' || path === 'action')
      .map(({ before, after }) => `${id}: ${before} → ${after}`),
  );
  const changed = diff.changed.length;
  const parts = [
    ...countTexts(go, 'goes', 'go'),
    ...countTexts(come, 'comes', 'come'),
    changed > 0 && `${plural(changed, 'rule')} ${changed === 1 ? 'changes' : 'change'}`,
    ...turned,
    diff.settings.map(({ path }) => path).join(', '),
    mode.from !== mode.to && `${mode.from} → ${mode.to}`,
    directory.from !== directory.to && `from ${directory.to}`,
    disarmed.length > 0 && `disarms ${disarmed.join(', ')}`,
  ];
  return parts.filter(Boolean).join('; ') || undefined;
}

/** Says what reject rules hold because they are not armed; undefined when none does. */
export function notArmedText({ rules, deliveries }: Reload['notArmed']): string | undefined {
  if (rules.length === 0) return undefined;
  const which = plural(deliveries, 'waiting delivery', 'waiting deliveries');
  const who = `${rules.join(', ')} (live, not armed)`;
  return `${who}: ${which} held until armed, or somebody decides`;
}

/** Everything that a reload changes, a line each. */
function reloadLines(reload: Reload): readonly string[] {
  const { diff, mode, directory, disarmed, restart, notArmed } = reload;
  const [from, to] = [diff.from, diff.to].map((hash) => hash.slice(0, HASH_CHARS));
  const lines = [
    from === to ? `rules ${to}, as they were` : `rules ${from} -> ${to}`,
    mode.from !== mode.to && `mode ${mode.from} -> ${mode.to}`,
    directory.from !== directory.to && `directory ${directory.from} -> ${directory.to}`,
    ...diff.added.map((id) => `+ rule ${id}`),
    ...diff.removed.map((id) => `- rule ${id}`),
    ...diff.changed.map(({ id }) => `~ rule ${id}`),
    ...diff.settings.map(({ path }) => `~ ${path}`),
    ...disarmed.map((id) => `disarmed: ${id} (it has another text now)`),
    restart.length > 0 && `acts from the next start on: ${restart.join(', ')}`,
  ];
  const held = notArmedText(notArmed);
  return [...lines.filter((line) => line !== false), ...(held === undefined ? [] : [held])];
}

export const reloadRules = act({
  name: 'rules.reload',
  operation: 'reloadRules',
  path: '/rules/reload',
  about: 'reload the rules in the running daemon',
  more:
    'All of the new rules and the configuration are checked first; with a mistake in them\n' +
    'nothing changes and the mistakes are shown. At a terminal it says what goes and what\n' +
    'comes, and asks; a script is not asked. SIGHUP does the same, without a question,\n' +
    'for a daemon that has no terminal; it ends one that has, and the demo.',
  button: 'Reload',
  role: 'approver',
  reason: 'page',
  input: {},
  seen: {
    rules: text('Rules', { about: 'Hash of the rules that the preview showed' }, 100),
    mode: text('Mode', { about: 'As the preview showed it' }, 20),
  },
  output: reloadSchema,
  examples: [
    ['rules reload', 'after an edit that rules check likes'],
    ['rules reload --dry-run', 'what it would change'],
  ],
  async preview(rules: RuleOperations) {
    const found = await rules.preview();
    const lines = [`would change: ${reloadSummary(found) ?? 'nothing'}`, ...reloadLines(found)];
    return { ...found, lines, seen: { rules: found.diff.to, mode: found.mode.to } };
  },
  run: (rules, _input, actor, agreed) => rules.reload(actor, agreed),
  done: (reloaded) => reloadLines(reloaded).join('\n'),
});

const rule = text('Rule', { about: 'Id of a reject rule' }, 100);

const lasts = {
  days: as(z.number().min(1).max(ARMED_DAYS_MAX), 'Days', 'whole', {
    about: 'The same in days',
  }).optional(),
  expires: as(
    z
      .number()
      .min(ARMED_MS_MIN, ARMED_FOR)
      .max(ARMED_DAYS_MAX * DAY_MS, ARMED_FOR),
    'Expires',
    'duration',
    { about: 'How long it stays armed (default: 90d)' },
  ).optional(),
};

function lastsMs({ days, expires }: z.output<z.ZodObject<typeof lasts>>): number {
  if (days !== undefined && expires !== undefined) throw invalid('either days or expires');
  return expires ?? Math.round((days ?? ARMED_DAYS) * DAY_MS);
}

function armedLine(ruleId: string, ruleHash: string): string {
  return `${ruleId} (${ruleHash.slice(0, HASH_CHARS)})`;
}

export const armRule = act({
  name: 'rules.arm',
  operation: 'armRule',
  path: '/rules/{id}/arm',
  about: 'let a reject rule act, in exactly its present text',
  more:
    'Asks for tests that prove every clause, a kept backtest of this text (rules backtest\n' +
    '--save), and matches that somebody has looked at (rules matches --seen); at a terminal\n' +
    'it shows them one by one. Changing the rule, or a list, table or setting it reads,\n' +
    'disarms it. Asks the running daemon.',
  button: 'Arm it',
  role: 'approver',
  danger: true,
  reason: 'stated',
  thing: 'rule',
  args: ['rule'],
  input: { rule, ...lasts },
  output: z
    .strictObject({
      ruleId: z.string(),
      ruleHash: z.string(),
      reportId: z.int().min(1),
      expiresAt: time('Armed until'),
      warnings: names,
    })
    .meta({ id: 'Armed' }),
  examples: [['rules arm reject-closed-season --reason "agreed" --expires 30d', 'a month']],
  check: (input) => void lastsMs(input),
  async preview({ rejects }: RuleOperations, { rule: id, ...how }) {
    const ms = lastsMs(how);
    const { ruleHash, reportId, warnings } = await rejects.armable(id);
    const days = `${Math.round((ms / DAY_MS) * 100) / 100} days`;
    const armed = `${armedLine(id, ruleHash)} would be armed for ${days}, by backtest ${reportId}`;
    return { lines: [armed, ...warnings.map((warning) => `warning: ${warning}`)] };
  },
  run: ({ rejects }, { rule: id, ...how }, actor) => rejects.arm(id, lastsMs(how), actor),
  done({ ruleId, ruleHash, expiresAt, warnings }) {
    const until = new Date(expiresAt).toISOString();
    return [
      `${armedLine(ruleId, ruleHash)} is armed until ${until}`,
      ...warnings.map((warning) => `warning: ${warning}`),
      'selvedge rules queue shows what it will reject',
    ].join('\n');
  },
});

export const disarmRule = act({
  name: 'rules.disarm',
  operation: 'disarmRule',
  path: '/rules/{id}/disarm',
  about: 'let a reject rule reject no more',
  more:
    'What waits to be rejected by it is withdrawn, and what was not sent yet is canceled.\n' +
    'Asks the running daemon.',
  button: 'Disarm',
  role: 'approver',
  danger: true,
  reason: 'stated',
  thing: 'rule',
  args: ['rule'],
  input: { rule },
  output: z.strictObject({ withdrawn: z.int(), canceled: z.int() }).meta({ id: 'Disarmed' }),
  examples: [['rules disarm reject-closed-season --reason "wrong"', 'at once']],
  async preview({ rejects }: RuleOperations, { rule: id }) {
    const withdrawn = plural(await rejects.disarmable(id), 'reject');
    return { lines: [`${withdrawn} would be withdrawn; what was not sent yet would be canceled`] };
  },
  run: ({ rejects }, { rule: id }, actor) => rejects.disarm(id, actor),
  done: ({ withdrawn, canceled }, { rule: id }) =>
    `${id} is disarmed, ${withdrawn} rejects withdrawn, ${canceled} canceled`,
});

const decision = z.int().min(1);

function listOf(decisions: number | readonly number[]): readonly number[] {
  return typeof decisions === 'number' ? [decisions] : decisions;
}

export const lookAtMatch = act({
  name: 'rules.seen',
  operation: 'lookAtMatch',
  path: '/rules/{id}/seen',
  about: 'say that a match of a reject rule is right',
  more: 'At a terminal "rules matches --seen" shows one after the other, and asks about each.',
  button: 'Yes, reject such',
  role: 'approver',
  reason: 'page',
  thing: 'rule',
  args: ['rule'],
  input: {
    rule,
    decisionId: as(
      z.union([decision, z.array(decision).min(1).max(DECISIONS_MAX)]),
      'Decision',
      'whole',
      { about: 'Decision in which the rule matched; several as a list' },
    ),
  },
  output: z.strictObject({ seen: z.int() }),
  examples: [['rules seen reject-closed-season --decision-id 412', 'as in: rules matches']],
  async preview({ rejects }: RuleOperations, { rule: id, decisionId }) {
    const decisions = listOf(decisionId);
    await rejects.requireMatches(id, decisions);
    return { lines: [`${plural(decisions.length, 'match', 'matches')} would be looked at`] };
  },
  run: async ({ rejects }, { rule: id, decisionId }, actor) => ({
    seen: await rejects.seen(id, listOf(decisionId), actor),
  }),
  done: ({ seen }) => `looked at so far: ${plural(seen, 'match', 'matches')} of exactly its text`,
});

export const resetBreaker = act({
  name: 'rules.resume',
  command: 'resume rejects',
  operation: 'resumeRejects',
  path: '/rules/resume',
  about: 'let armed rules reject again after the breaker',
  button: 'Let rules reject again',
  role: 'approver',
  danger: true,
  reason: 'stated',
  input: {},
  output: z
    .strictObject({ safeguard: z.string(), detail: z.string(), at: time('Tripped') })
    .meta({ id: 'Breaker' }),
  examples: [['resume rejects --reason "a sale, expected"', 'after the breaker tripped']],
  async preview({ rejects }: RuleOperations) {
    const { safeguard, detail } = await rejects.tripped();
    return { lines: [`the breaker would be reset (it is: ${safeguard}, ${detail})`] };
  },
  run: ({ rejects }, _input, actor) => rejects.resetBreaker(actor),
  done: ({ safeguard, detail }) => `the breaker is reset (it was: ${safeguard}, ${detail})`,
});

/** Acts whose commands stand below `rules`. */
export const ruleActs = [reloadRules, armRule, disarmRule, lookAtMatch];

/**
 * Keeps a backtest, which arming asks for. The console takes no report from outside, which would
 * prove whatever its author wrote: it keeps that of a trial, and a command the one that it made.
 */
export const keepReport = act({
  name: 'rules.report',
  operation: 'keepBacktest',
  path: '/rules/trial/{id}/keep',
  about: 'keep the backtest of the rules in force, which arming asks for',
  button: 'Keep the backtest',
  role: 'operator',
  reason: 'page',
  args: ['trial'],
  input: {
    trial: text('Trial', { about: 'Trial of the console that made it' }).optional(),
    report: z.strictObject({
      ruleSetHash: z.string(),
      since: z.int(),
      until: z.int(),
      deliveries: z.int().nonnegative(),
      rules: z.record(z.string(), z.string()),
      report: z.unknown(),
    }),
  },
  output: z.strictObject({ reportId: z.int().min(1) }),
  examples: [],
  preview: async (_rules: RuleOperations, { report }) => ({
    lines: [`a backtest of ${plural(report.deliveries, 'delivery', 'deliveries')} would be kept`],
  }),
  run: async ({ rejects }, { report }, actor) => ({
    reportId: await rejects.keepReport(report, actor),
  }),
  done: ({ reportId }) => `kept as report ${reportId}`,
});
