/** Arguments and options of commands made from declared acts, and what was typed in them. */
import { Argument, type Command, Option } from 'commander';
import { z } from 'zod';
import { RefusedError } from '../lib/errors.ts';
import { dashed } from '../lib/strings.ts';
import type { ActHead } from '../surface/acts.ts';
import type { Given } from '../surface/given.ts';
import { choicesOf, isMany, isOptional, memberOf, unwrapped } from '../surface/members.ts';
import type { CliContext } from './command.ts';

export interface Options {
  readonly dryRun?: boolean;
  /** Whether the person is not to be asked. */
  readonly yes?: boolean;
  readonly reason?: string;
  readonly json?: boolean;
}

/** Text for the help: what the member means, else its title. */
export function helpOf(schema: z.core.$ZodType, name: string): string {
  const { title = name, about = title, kind } = memberOf(schema) ?? {};
  const text = `${about.charAt(0).toLowerCase()}${about.slice(1)}`;
  return kind === 'time' ? `${text}, or 2h for two hours ago` : text;
}

/** Names of values for the help, by kinds; others have the name of their option. */
const VALUES: Readonly<Record<string, string>> = {
  duration: 'duration',
  time: 'time',
  whole: 'n',
};

/** Members of a shape that are options of a command, each with its option. */
export function optionsIn({ shape }: z.ZodObject): (readonly [name: string, option: Option])[] {
  return Object.entries(shape).flatMap(([name, schema]) =>
    memberOf(schema)?.option === '' ? [] : [[name, memberOption(name, schema)] as const],
  );
}

export function memberOption(name: string, schema: z.core.$ZodType): Option {
  const { kind = 'text', option = dashed(name), isStated = false } = memberOf(schema) ?? {};
  const isFlag = kind === 'flag';
  const hasLabel = isFlag || option.includes('<');
  const flags = hasLabel ? `--${option}` : `--${option} <${VALUES[kind] ?? option}>`;
  const made = new Option(flags, helpOf(schema, name));
  const choices = choicesOf(schema);
  if (choices) made.choices([...choices]);
  if (isMany(schema)) {
    made.argParser((text: string, earlier: readonly string[] = []) => [...earlier, text]);
  }
  return made.makeOptionMandatory(!isFlag && (isStated || !isOptional(schema)));
}

export function memberArgument(name: string, schema: z.core.$ZodType): Argument {
  const label = `${dashed(name)}${unwrapped(schema) instanceof z.ZodArray ? '...' : ''}`;
  const argument = new Argument(
    isOptional(schema) ? `[${label}]` : `<${label}>`,
    helpOf(schema, name),
  );
  const choices = choicesOf(schema);
  return choices ? argument.choices([...choices]) : argument;
}

/** Members that options state. */
export function statedBy({ input }: Pick<ActHead, 'input'>, command: Command): Given {
  const options = command.opts<Given>();
  const stated = optionsIn(input).map(
    ([name, option]) => [name, options[option.attributeName()]] as const,
  );
  return Object.fromEntries(stated.filter(([, value]) => value !== undefined));
}

/** Members that options give an act: a flag that was not typed is off. */
export function givenBy(of: ActHead, command: Command): Given {
  const flags = Object.entries(of.input.shape).flatMap(([name, schema]) =>
    memberOf(schema)?.kind === 'flag' ? [[name, false] as const] : [],
  );
  return { ...Object.fromEntries(flags), ...statedBy(of, command) };
}

/**
 * Asks at the terminal for the member that confirms an act, unless an option gives it, or says that
 * nobody is to be asked.
 */
export async function confirmed(
  context: CliContext,
  { typed, args: [thing = ''], input }: ActHead,
  given: Given,
  isSure = false,
): Promise<Given> {
  const schema = typed && input.shape[typed.member];
  if (!typed || !schema) return given;
  const known = given[typed.member];
  // An empty text is no member at all for the act, which would do without the confirmation.
  if (known !== undefined && known !== '') return given;
  if (isSure) return { ...given, [typed.member]: given[thing] };
  const question = `${typed.ask.replaceAll('{}', String(given[thing]))} `;
  const answer = known === undefined ? await context.ask(question) : undefined;
  if (answer?.trim()) return { ...given, [typed.member]: answer.trim() };
  const option = typed.again ? '--yes' : memberOption(typed.member, schema).flags;
  const hint = `type it when you are asked, or name it: ${option}`;
  throw new RefusedError('act.unconfirmed', 'the act must be confirmed', { hint });
}
