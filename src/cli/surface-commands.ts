/**
 * Commands made from declared acts: `selvedge <tag> <act>`, with the members that the act takes as
 * arguments and options, and `--dry-run`, `--reason` and `--json`.
 */
import { Argument, Command, Option } from 'commander';
import type { z } from 'zod';
import { EXIT, RefusedError } from '../lib/errors.ts';
import { visible } from '../lib/strings.ts';
import type { ActHead } from '../surface/acts.ts';
import type { Given } from '../surface/given.ts';
import { choicesOf, isOptional, memberOf } from '../surface/members.ts';
import { remark, statedReason } from './arguments.ts';
import { type CliContext, examples } from './command.ts';
import { allowOverUrl } from './remote/over-url.ts';
import { performAct, previewAct } from './surface-call.ts';

function dashed(name: string): string {
  return name.replaceAll(/[A-Z]/g, (one) => `-${one.toLowerCase()}`);
}

/** Text for the help: what the member means, else its title. */
function helpOf(schema: z.core.$ZodType, name: string): string {
  const { title = name, about = title } = memberOf(schema) ?? {};
  return `${about.charAt(0).toLowerCase()}${about.slice(1)}`;
}

export function optionOf(name: string, schema: z.core.$ZodType): Option {
  const isFlag = memberOf(schema)?.kind === 'flag';
  const option = new Option(
    isFlag ? `--${dashed(name)}` : `--${dashed(name)} <${dashed(name)}>`,
    helpOf(schema, name),
  );
  const choices = choicesOf(schema);
  if (choices) option.choices([...choices]);
  return option.makeOptionMandatory(!isFlag && !isOptional(schema));
}

export function argumentOf(name: string, schema: z.core.$ZodType): Argument {
  const label = dashed(name);
  const argument = new Argument(
    isOptional(schema) ? `[${label}]` : `<${label}>`,
    helpOf(schema, name),
  );
  const choices = choicesOf(schema);
  return choices ? argument.choices([...choices]) : argument;
}

interface Options {
  readonly dryRun?: boolean;
  readonly reason?: string;
  readonly json?: boolean;
}

/** What was typed, by the names of the act's members. */
function givenOf(of: ActHead, command: Command): Given {
  const { args, processedArgs } = command;
  const named = of.args.map((name, index) => [name, processedArgs[index] ?? args[index]] as const);
  const options = Object.entries(command.opts<Given>());
  return Object.fromEntries([
    ...named.filter(([, value]) => value !== undefined),
    ...options.filter(([name]) => name in of.input.shape),
  ]);
}

/** Asks at the terminal for the member that confirms a final act, unless an option gives it. */
async function confirmed(context: CliContext, of: ActHead, given: Given): Promise<Given> {
  const { typed } = of;
  if (!typed || given[typed.member] !== undefined) return given;
  const answer = await context.ask(`${typed.ask} `);
  if (answer !== undefined) return { ...given, [typed.member]: answer.trim() };
  const hint = `name it: --${dashed(typed.member)} <${dashed(typed.member)}>`;
  throw new RefusedError('act.unconfirmed', 'the act must be confirmed', { hint });
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
    if (!of.args.includes(name)) command.addOption(optionOf(name, schema));
  }
  for (const name of of.args) {
    const schema = shape[name];
    if (schema) command.addArgument(argumentOf(name, schema));
  }
  if (of.reason === 'stated') {
    const reason = new Option('--reason <text>', 'why; goes into the audit');
    command.addOption(reason.argParser(statedReason));
  } else if (of.reason === 'page') {
    command.option('--reason <text>', 'why; goes into the audit', remark, '');
  }
  command
    .option('--dry-run', 'only say what would be done')
    .option('--json', 'the answer as JSON')
    .addHelpText('after', examples(of.examples))
    .action(() => run(context, of, command, tell));
  return allowOverUrl(command);
}
