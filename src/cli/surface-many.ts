/**
 * Commands for acts on many things: `accept A B C`, with an answer for each, and
 * `accept --all-matching` with a filter and the mark of the set that the person saw.
 */
import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { EXIT, UsageError } from '../lib/errors.ts';
import { visible } from '../lib/strings.ts';
import { type ActHead, previewSchema } from '../surface/acts.ts';
import type { Given } from '../surface/given.ts';
import { answersSchema, type ManyAnswer, type ManyHead } from '../surface/many.ts';
import { memberOf } from '../surface/members.ts';
import type { CliContext } from './command.ts';
import { performAct } from './surface-call.ts';
import {
  confirmed,
  givenBy,
  helpOf,
  type Options,
  optionsIn,
  statedBy,
} from './surface-options.ts';

interface ManyOptions extends Options {
  readonly allMatching?: boolean;
  readonly expect?: string;
}

const TEXT_CHARS_MAX = 200;

/** Parser of a text that is not empty: an empty one would filter nothing, and take all. */
function someText(text: string): string {
  if (text.trim() !== '' && text.length <= TEXT_CHARS_MAX) return text.trim();
  throw new InvalidArgumentError(`It must have 1 to ${TEXT_CHARS_MAX} characters.`);
}

/** Options of a filter, for acts as for lists. */
export function filterOptions(filter: ManyHead['filter']): Option[] {
  return optionsIn(filter).map(([, option]) =>
    option.required && !option.argChoices ? option.argParser(someText) : option,
  );
}

/** Adds what names the things: arguments, and the options of the filter. */
export function addManyOptions(command: Command, of: ActHead, many: ManyHead): void {
  const [thing = ''] = of.args;
  const schema = of.input.shape[thing];
  const value = memberOf(many.expect)?.kind === 'whole' ? 'n' : 'mark';
  const label = many.isNamed ? `[${thing}...]` : `[${thing}]`;
  command.addArgument(new Argument(label, schema && helpOf(schema, thing)));
  if (many.isNamed) command.option('--all-matching', 'instead: all that fit the filter');
  command.addOption(new Option(`--expect <${value}>`, many.mark));
  for (const option of filterOptions(many.filter)) command.addOption(option);
}

function answerLine(of: ActHead, { did }: ManyHead, answer: ManyAnswer): string {
  const [thing = ''] = of.args;
  if (!answer.ok) {
    const hint = answer.hint === undefined ? '' : ` (${answer.hint})`;
    return `${String(answer[thing]).replace(/^id:/, '')}: NOT ${did}: ${answer.message}${hint}`;
  }
  const { ok: _, [thing]: name, ...done } = answer;
  const preview = previewSchema.safeParse(done);
  return preview.success ? preview.data.lines.join('\n') : of.done(done, { [thing]: name });
}

function tell(
  context: CliContext,
  of: ActHead,
  many: ManyHead,
  answers: readonly ManyAnswer[],
): void {
  if (answers.some(({ ok }) => !ok)) context.setExitCode(EXIT.failure.code);
  for (const one of answers) context.output.line(visible(answerLine(of, many, one), '\n'));
}

async function each(
  context: CliContext,
  command: Command,
  of: ActHead,
  wanted: { readonly things: readonly Given[]; given: Given; reason: string; dryRun: boolean },
): Promise<readonly ManyAnswer[]> {
  if (wanted.things.length === 0) return [];
  return answersSchema.parse(await performAct(command, context, of, wanted)).answers;
}

/** Acts on named things: looks at all of them, asks for what is to be typed, and then acts. */
async function actOnNamed(
  context: CliContext,
  command: Command,
  [of, many]: readonly [ActHead, ManyHead],
  names: readonly string[],
): Promise<readonly ManyAnswer[]> {
  const { dryRun = false, reason = '' } = command.opts<ManyOptions>();
  const [thing = ''] = of.args;
  if (names.length > many.max) {
    const message = `${names.length} at once are more than ${many.max}`;
    throw new UsageError('console.too_many', message, { hint: 'name fewer of them' });
  }
  const given = givenBy(of, command);
  const named = names.map((name) => ({ [thing]: name }));
  const looked = await each(context, command, of, { things: named, given, reason, dryRun: true });
  if (dryRun) return looked;
  const things: Given[] = [];
  for (const [index, one] of looked.entries()) {
    if (!one.ok) continue;
    const { seen = {} } = previewSchema.parse(one);
    things.push(await confirmed(context, of, { ...given, ...named[index], ...seen }));
  }
  const done = await each(context, command, of, { things, given, reason, dryRun });
  const left = done.values();
  return looked.map((one) => (one.ok ? (left.next().value ?? one) : one));
}

/** Acts on all that fit; without the mark of the set it only tells what it would do. */
async function actOnMatching(
  context: CliContext,
  command: Command,
  [of, many]: readonly [ActHead, ManyHead],
): Promise<unknown> {
  const options = command.opts<ManyOptions>();
  const { dryRun = false, reason = '', expect } = options;
  const filter = statedBy({ input: many.filter }, command);
  const asked = { given: givenBy(of, command), reason, select: { filter, expect } };
  if (!dryRun && expect !== undefined) {
    return performAct(command, context, of, { ...asked, dryRun });
  }
  const told = await performAct(command, context, of, { ...asked, dryRun: true });
  if (dryRun) return told;
  const { lines, seen } = previewSchema.parse(told);
  const [noun] = of.name.split('.');
  throw new UsageError('act.no_mark', `nothing was done: it would be ${lines.join(', ')}`, {
    hint: `look at them (${noun} list), then ${command.name()} with --expect ${seen?.expect}`,
  });
}

/** Names on the command line; undefined: all that fit the filter are meant. */
function namesOf(many: ManyHead, command: Command): readonly string[] | undefined {
  const { allMatching = false, expect } = command.opts<ManyOptions>();
  const names = command.args;
  const filter = statedBy({ input: many.filter }, command);
  const isFiltered = Object.keys(filter).length > 0 || expect !== undefined;
  const isAll = many.isNamed ? allMatching : isFiltered;
  if (names.length > 0 === !isAll && isFiltered === (isFiltered && isAll)) {
    return isAll ? undefined : names;
  }
  const how = many.isNamed ? '--all-matching with a filter' : 'a filter with --expect <mark>';
  throw new UsageError('act.no_selection', 'which ones?', {
    hint: `name ${many.isNamed ? 'them' : 'one'}, or ${how}`,
  });
}

/** Does the act as the command line says; false: to the one thing that it names. */
export async function actOnMany(
  context: CliContext,
  command: Command,
  of: ActHead,
  many: ManyHead,
): Promise<boolean> {
  const { dryRun = false, json } = command.opts<ManyOptions>();
  const names = namesOf(many, command);
  if (names && !many.isNamed) return false;
  const { output } = context;
  const answer = names
    ? { answers: await actOnNamed(context, command, [of, many], names) }
    : await actOnMatching(context, command, [of, many]);
  const isOne = !names && (dryRun || many.isOneAnswer);
  if (isOne) {
    const preview = dryRun ? previewSchema.parse(answer) : undefined;
    const { done, isWhole } = many.answer ?? of;
    if (!preview && !isWhole(answer)) context.setExitCode(EXIT.failure.code);
    const lines = preview ? preview.lines : [done(answer, {})];
    if (json === true) output.json(answer);
    else for (const line of lines) output.line(visible(line, '\n'));
    return true;
  }
  const { answers } = answersSchema.parse(answer);
  if (json === true) {
    if (answers.some(({ ok }) => !ok)) context.setExitCode(EXIT.failure.code);
    output.json(answers);
  } else tell(context, of, many, answers);
  return true;
}
