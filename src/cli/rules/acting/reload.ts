/** `selvedge rules reload`: makes the daemon load its rules and its configuration again. */
import { Command } from 'commander';
import { z } from 'zod';
import { heldUnarmed, heldUnarmedText } from '../../../decisions/simulation/not-armed.ts';
import { systemClock } from '../../../lib/clock.ts';
import { RefusedError } from '../../../lib/errors.ts';
import { remark } from '../../arguments.ts';
import { type CliContext, examples } from '../../command.ts';
import { askRunningDaemon } from '../../daemon-call.ts';
import type { Output } from '../../output.ts';
import { withMirror } from '../../reading.ts';
import { noteUnread } from '../directory.ts';
import { namedRuleSet } from '../rule-sets.ts';

const change = z.object({ from: z.string(), to: z.string() });

const counts = z.partialRecord(z.enum(['accept', 'hold', 'reject']), z.int());

const answer = z.object({
  diff: z.object({
    from: z.string(),
    to: z.string(),
    added: z.array(z.string()),
    removed: z.array(z.string()),
    changed: z.array(
      z.looseObject({
        id: z.string(),
        differences: z.array(
          z.looseObject({
            path: z.string(),
            before: z.unknown().optional(),
            after: z.unknown().optional(),
          }),
        ),
      }),
    ),
    settings: z.array(z.looseObject({ path: z.string() })),
  }),
  counts: z.object({ go: counts, come: counts }),
  mode: change,
  directory: change,
  disarmed: z.array(z.string()),
  restart: z.array(z.string()),
  unread: z.array(z.string()),
});

type Answer = z.output<typeof answer>;

const HASH_CHARS = 12;

function countTexts(of: z.output<typeof counts>, one: string, many: string): readonly string[] {
  return Object.entries(of).map(([action, count = 0]) =>
    count === 1 ? `1 ${action} rule ${one}` : `${count} ${action} rules ${many}`,
  );
}

function isArrow(path: string): boolean {
  return path === 'mode' || path === 'action';
}

/** Summarizes on one line what a reload changes; undefined when nothing does. */
function summaryOf({ diff, counts: { go, come }, mode, directory, disarmed }: Answer) {
  const turned = diff.changed.flatMap(({ id, differences }) =>
    differences
      .filter(({ path }) => isArrow(path))
      .map(({ before, after }) => `${id}: ${before} → ${after}`),
  );
  const changed = diff.changed.length;
  const parts = [
    ...countTexts(go, 'goes', 'go'),
    ...countTexts(come, 'comes', 'come'),
    ...(changed > 0 ? [`${changed} rule${changed === 1 ? ' changes' : 's change'}`] : []),
    ...turned,
    ...(diff.settings.length > 0 ? [diff.settings.map(({ path }) => path).join(', ')] : []),
    ...(mode.from === mode.to ? [] : [`${mode.from} → ${mode.to}`]),
    ...(directory.from === directory.to ? [] : [`from ${directory.to}`]),
    ...(disarmed.length > 0 ? [`disarms ${disarmed.join(', ')}`] : []),
  ];
  return parts.length > 0 ? parts.join('; ') : undefined;
}

function print(output: Output, reloaded: Answer): void {
  const { diff, mode, directory, disarmed, restart, unread } = reloaded;
  const [from, to] = [diff.from, diff.to].map((hash) => hash.slice(0, HASH_CHARS));
  output.line(from === to ? `rules ${to}, as they were` : `rules ${from} -> ${to}`);
  if (mode.from !== mode.to) output.line(`mode ${mode.from} -> ${mode.to}`);
  if (directory.from !== directory.to) {
    output.line(`directory ${directory.from} -> ${directory.to}`);
  }
  for (const id of diff.added) output.line(`+ rule ${id}`);
  for (const id of diff.removed) output.line(`- rule ${id}`);
  for (const { id } of diff.changed) output.line(`~ rule ${id}`);
  for (const { path } of diff.settings) output.line(`~ ${path}`);
  for (const id of disarmed) output.line(`disarmed: ${id} (it has another text now)`);
  noteUnread(output, unread);
  if (restart.length > 0) output.line(`acts from the next start on: ${restart.join(', ')}`);
}

/**
 * Counts what the reject rules of the files hold that are not armed, in a process that makes the
 * daemon wait for nothing. Where that cannot be read, the reload goes on without it.
 */
function heldByFiles(command: Command, context: CliContext, { directory, mode }: Answer) {
  if (mode.to !== 'live') return Promise.resolve(undefined);
  return withMirror(command, context, async (db, store) => {
    const ruleSet = await namedRuleSet(db, directory.to);
    return heldUnarmedText(await heldUnarmed(store, ruleSet, systemClock().now()));
  }).catch(() => undefined);
}

/** Asks at a terminal whether the reload is wanted; undefined where there is nothing to ask. */
async function agree(
  context: CliContext,
  preview: () => Promise<Answer>,
  heldBy: (answer: Answer) => Promise<string | undefined>,
) {
  // A failed preview asks nothing: the reload itself names the mistakes, and opens their incident.
  const previewed = await preview().catch(() => undefined);
  const summary = previewed && summaryOf(previewed);
  if (previewed === undefined || summary === undefined) return undefined;
  const held = await heldBy(previewed);
  const told = [summary, ...(held === undefined ? [] : [held])].join('\n');
  const typed = await context.ask(`${told}\nReload? [y/N] `);
  if (typed === undefined) return undefined;
  if (!/^y(es)?$/i.test(typed.trim())) {
    throw new RefusedError('rules.unconfirmed', 'nothing was reloaded');
  }
  return { rules: previewed.diff.to, mode: previewed.mode.to };
}

interface Options {
  readonly reason: string;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

export function rulesReload(context: CliContext): Command {
  return new Command('reload')
    .summary('reload the rules in the running daemon')
    .description(
      'All of the new rules and the configuration are checked first; with a mistake in them\n' +
        'nothing changes and the mistakes are shown. At a terminal it says what goes and what\n' +
        'comes, and asks; a script is not asked. SIGHUP does the same, without a question,\n' +
        'for a daemon that has no terminal; it ends one that has, and the demo.',
    )
    .option('--reason <text>', 'why; goes into the audit', remark, '')
    .option('--yes', 'do not ask')
    .option('--dry-run', 'only say what goes and what comes')
    .option('--json', 'as JSON; does not ask')
    .addHelpText(
      'after',
      examples([
        ['rules reload', 'after an edit that rules check likes'],
        ['rules reload --dry-run', 'what it would change'],
      ]),
    )
    .action(async ({ reason, yes, dryRun, json }: Options, command: Command) => {
      const { output } = context;
      const ask = (more: object) =>
        askRunningDaemon(command, context, {
          path: '/api/rules/reload',
          body: { reason, ...more },
          answer,
        });
      const heldBy = (answered: Answer) => heldByFiles(command, context, answered);
      const show = async (answered: Answer): Promise<void> => {
        if (json === true) {
          output.json(answered);
          return;
        }
        print(output, answered);
        const held = await heldBy(answered);
        if (held !== undefined) output.line(held);
      };
      if (dryRun === true) {
        const previewed = await ask({ dryRun });
        if (json !== true) output.line(`would change: ${summaryOf(previewed) ?? 'nothing'}`);
        await show(previewed);
        return;
      }
      const isAsked = yes !== true && json !== true;
      const agreed = isAsked
        ? await agree(context, () => ask({ dryRun: true }), heldBy)
        : undefined;
      await show(await ask({ agreed }));
    });
}
