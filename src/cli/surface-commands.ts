/**
 * Commands made from declared acts: `selvedge <tag> <act>`, with the members that the act takes as
 * arguments and options, and `--dry-run`, `--reason` and `--json`.
 */
import { Command, Option } from 'commander';
import { systemClock } from '../lib/clock.ts';
import { BugError, EXIT } from '../lib/errors.ts';
import { dashed, visible } from '../lib/strings.ts';
import type { ActHead, Choice, Preview } from '../surface/acts.ts';
import { type Given, invalid } from '../surface/given.ts';
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
import { markThing } from './things.ts';

/** Typed words, by the names of the act's members. */
function givenOf(of: ActHead, command: Command): Given {
  const { args, processedArgs } = command;
  const named = of.args.map((name, index) => [name, processedArgs[index] ?? args[index]] as const);
  const isTyped = (value: unknown) =>
    Array.isArray(value) ? value.length > 0 : value !== undefined;
  const typed = named.filter(([, value]) => isTyped(value));
  return { ...givenBy(of, command), ...Object.fromEntries(typed) };
}

/** Tells more of the answer than the act says; false: the act's own words are told. */
export type Telling = (command: Command, answer: unknown) => Promise<boolean>;

/** Steps of a command made by hand beside its act. */
export interface Beside {
  /** Members that the act is given beside those that were typed. */
  readonly chosen?: Given;
  readonly tell?: Telling | undefined;
  /** Asks before the act, which may have a preview, and throws where it is not wanted. */
  readonly agree?: (preview: Preview | undefined) => Promise<void>;
  /** State that the asker has seen where there can be no preview. */
  readonly unshown?: Given;
}

export async function runAct(
  context: CliContext,
  of: ActHead,
  command: Command,
  { chosen, tell, agree, unshown }: Beside = {},
): Promise<void> {
  const { dryRun = false, reason = '', json, yes = false } = command.opts<Options>();
  if (!dryRun) requireReason(of, reason, false);
  if (of.many && (await actOnMany(context, command, of, of.many))) return;
  const given = { ...givenOf(of, command), ...chosen };
  of.check(given, systemClock().now());
  const { output } = context;
  const needsPreview = dryRun || Object.keys(of.seen.shape).length > 0;
  const previewed = needsPreview ? previewAct(command, context, of, given) : undefined;
  const preview = await previewed?.catch((refused: unknown) => {
    if (dryRun || unshown === undefined) throw refused;
    return undefined;
  });
  if (dryRun && preview) {
    if (json === true) output.json(preview);
    else for (const line of preview.lines) output.line(visible(line));
    return;
  }
  await agree?.(preview);
  const wanted = await confirmed(context, of, { ...given, ...(preview?.seen ?? unshown) }, yes);
  const asked = { given: wanted, reason, dryRun: false };
  const answer = await performAct(command, context, of, asked);
  if (!of.isWhole(answer)) context.setExitCode(EXIT.failure.code);
  if (await tell?.(command, answer)) return;
  const told = visible(of.done(answer, wanted), '\n');
  if (json === true) output.json(answer);
  else output.line(of.secret === undefined ? told : String(Object(answer)[of.secret]));
  if (of.secret !== undefined) output.note(told);
}

/** Last word of the command that the act has. */
export function wordOf({
  name,
  command = name.replace('.', ' '),
}: Pick<ActHead, 'name' | 'command'>): string {
  return command.split(' ').at(-1) ?? command;
}

/** Adds options and arguments of the acts, of which the command does one. */
function addMembers(command: Command, acts: readonly ActHead[]): void {
  const shape: ActHead['input']['shape'] = Object.assign({}, ...acts.map((of) => of.input.shape));
  const again = new Set(acts.flatMap(({ typed }) => (typed?.again ? [typed.member] : [])));
  const chosen = new Set(acts.flatMap(({ choice }) => choice?.member ?? []));
  const args = [...new Set(acts.flatMap((of) => of.args))];
  for (const [name, schema] of Object.entries(shape)) {
    if (args.includes(name) || chosen.has(name)) continue;
    if (again.has(name)) command.option('--yes', 'do not ask');
    else command.addOption(memberOption(name, schema));
  }
  const many = acts.find((of) => of.many);
  if (many?.many) addManyOptions(command, many, many.many);
  for (const name of many ? args.slice(1) : args) {
    const schema = shape[name];
    if (schema) command.addArgument(memberArgument(name, schema));
  }
  if (acts.some(({ reason }) => reason === 'stated')) {
    const reason = new Option('--reason <text>', 'why; goes into the audit (required)');
    command.addOption(reason.argParser(statedReason));
  } else if (acts.some(({ reason }) => reason !== 'none')) {
    command.option('--reason <text>', 'why; goes into the audit', remark, '');
  }
  command
    .option('--dry-run', 'only say what would be done')
    .option('--json', 'the answer as JSON')
    .addHelpText('after', examples(acts.flatMap((of) => of.examples)));
  markThing(command, acts[0]?.thing);
  allowOverUrl(command);
}

export function actCommand(of: ActHead, context: CliContext, tell?: Telling): Command {
  const command = new Command(wordOf(of)).summary(of.about);
  if (of.more !== undefined) command.description(of.more);
  addMembers(command, [of]);
  return command.action(() => runAct(context, of, command, { tell }));
}

interface Chosen {
  readonly of: ActHead;
  readonly choice: Choice;
}

function spellingOf({ value, member }: Choice): string {
  return member === undefined ? value : `${value}[:${dashed(member)}]`;
}

/** Act that the text of the option chooses, with the member that follows its value. */
function chosenBy(acts: readonly Chosen[], text: string): readonly [ActHead, Given] {
  const [value = '', ...rest] = text.split(':');
  const found = acts.find(({ choice }) => choice.value === value);
  const { member } = found?.choice ?? {};
  if (found && member !== undefined) return [found.of, { [member]: rest.join(':') || null }];
  if (found && rest.length === 0) return [found.of, {}];
  const [option = ''] = acts.map(({ choice }) => choice.option);
  const known = acts.map(({ choice }) => `--${option} ${spellingOf(choice)}`).join(', ');
  throw invalid(`--${option} ${text} is not known`, known);
}

function membersOf({ input, many }: ActHead): string[] {
  return Object.keys({ ...input.shape, ...many?.filter.shape, ...(many && { expect: null }) });
}

/** Refuses options of the other acts of the command, which would be ignored. */
function requireOwn(of: ActHead, acts: readonly Chosen[], command: Command, text: string): void {
  const own = new Set(membersOf(of));
  const others = new Set(acts.flatMap((one) => membersOf(one.of)));
  const stray = Object.keys(command.opts<Given>()).find(
    (name) => others.has(name) && !own.has(name),
  );
  if (stray === undefined) return;
  const [option = ''] = acts.map(({ choice }) => choice.option);
  throw invalid(`--${dashed(stray)} does not go with --${option} ${text}`);
}

/** Command of several acts, one of which an option chooses. */
export function choiceCommand(heads: readonly ActHead[], context: CliContext): Command {
  const acts = heads.flatMap((of): readonly Chosen[] =>
    of.choice ? [{ of, choice: of.choice }] : [],
  );
  const [first] = acts;
  if (!first) throw new BugError('acts.choice', 'a command of several acts has no choice');
  const { about, more, option } = first.choice;
  const rows = acts.map(({ of, choice }) => `${spellingOf(choice).padEnd(16)}${of.about}`);
  const spellings = acts.map(({ choice }) => spellingOf(choice)).join(', ');
  const command = new Command(wordOf(first.of)).summary(about);
  command.description(`${more}\n\n${rows.join('\n')}`);
  command.requiredOption(`--${option} <what>`, spellings);
  addMembers(command, heads);
  return command.action(() => {
    const text = String(command.opts<Given>()[option]);
    const [of, chosen] = chosenBy(acts, text);
    requireOwn(of, acts, command, text);
    return runAct(context, of, command, { chosen });
  });
}
