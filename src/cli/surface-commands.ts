/**
 * Commands made from declared acts: `selvedge <tag> <act>`, with the members that the act takes as
 * arguments and options, and `--dry-run`, `--reason` and `--json`.
 */
import { Command, Option } from 'commander';
import { EXIT } from '../lib/errors.ts';
import { visible } from '../lib/strings.ts';
import type { ActHead } from '../surface/acts.ts';
import type { Given } from '../surface/given.ts';
import { requireReason } from '../surface/perform.ts';
import { remark, statedReason } from './arguments.ts';
import { type CliContext, examples } from './command.ts';
import { allowOverUrl } from './remote/over-url.ts';
import { performAct, previewAct } from './surface-call.ts';
import { actOnMany, addManyOptions } from './surface-many.ts';
import {
  confirmed,
  givenBy,
  memberArgument,
  memberOption,
  type Options,
} from './surface-options.ts';

/** What was typed, by the names of the act's members. */
function givenOf(of: ActHead, command: Command): Given {
  const { args, processedArgs } = command;
  const named = of.args.map((name, index) => [name, processedArgs[index] ?? args[index]] as const);
  const typed = named.filter(([, value]) => value !== undefined);
  return { ...givenBy(of, command), ...Object.fromEntries(typed) };
}

/** Tells more of the answer than the act says; false: the act's own words are told. */
export type Telling = (command: Command, answer: unknown) => Promise<boolean>;

async function run(
  context: CliContext,
  of: ActHead,
  command: Command,
  tell?: Telling,
): Promise<void> {
  const { dryRun = false, reason = '', json } = command.opts<Options>();
  if (!dryRun) requireReason(of, reason, false);
  if (of.many && (await actOnMany(context, command, of, of.many))) return;
  const given = givenOf(of, command);
  const { output } = context;
  const needsPreview = dryRun || Object.keys(of.seen.shape).length > 0;
  const preview = needsPreview ? await previewAct(command, context, of, given) : undefined;
  if (dryRun && preview) {
    if (json === true) output.json(preview);
    else for (const line of preview.lines) output.line(visible(line));
    return;
  }
  const wanted = await confirmed(context, of, { ...given, ...preview?.seen });
  const asked = { given: wanted, reason, dryRun: false };
  const answer = await performAct(command, context, of, asked);
  if (!of.isWhole(answer)) context.setExitCode(EXIT.failure.code);
  if (await tell?.(command, answer)) return;
  if (json === true) output.json(answer);
  else output.line(visible(of.done(answer, wanted), '\n'));
}

/** Last word of the command that the act has. */
export function wordOf({
  name,
  command = name.replace('.', ' '),
}: Pick<ActHead, 'name' | 'command'>): string {
  return command.split(' ').at(-1) ?? command;
}

export function actCommand(of: ActHead, context: CliContext, tell?: Telling): Command {
  const { shape } = of.input;
  const command = new Command(wordOf(of)).summary(of.about);
  if (of.more !== undefined) command.description(of.more);
  for (const [name, schema] of Object.entries(shape)) {
    if (!of.args.includes(name)) command.addOption(memberOption(name, schema));
  }
  if (of.many) addManyOptions(command, of, of.many);
  for (const name of of.many ? of.args.slice(1) : of.args) {
    const schema = shape[name];
    if (schema) command.addArgument(memberArgument(name, schema));
  }
  if (of.reason === 'stated') {
    const reason = new Option('--reason <text>', 'why; goes into the audit');
    command.addOption(reason.argParser(statedReason));
  } else if (of.reason !== 'none') {
    command.option('--reason <text>', 'why; goes into the audit', remark, '');
  }
  command
    .option('--dry-run', 'only say what would be done')
    .option('--json', 'the answer as JSON')
    .addHelpText('after', examples(of.examples))
    .action(() => run(context, of, command, tell));
  return allowOverUrl(command);
}
