/** Every command line that the documents show, or the program hints at, is one that it knows. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, Help, type Option } from 'commander';
import { expect, it } from 'vitest';
import { commandsFor } from '../../../src/cli/commands.ts';
import { createOutput } from '../../../src/cli/output.ts';
import { createScrubber } from '../../../src/lib/secret.ts';
import { filesBelow, repositoryRoot } from '../../support/source.ts';

const sink = { write: () => undefined };
const scrubber = createScrubber();
const context = {
  ...{ env: {}, scrubber, output: createOutput(sink, sink, {}, scrubber.scrub) },
  ask: async () => undefined,
  askSecret: async () => undefined,
  setExitCode: () => undefined,
};

async function wholeProgram(): Promise<Command> {
  const program = new Command('selvedge')
    .option('-c, --config <file>')
    .option('--url <address>')
    .option('--token-file <file>');
  for (const command of await commandsFor(['completion'], context)) program.addCommand(command);
  return program;
}

const AT_ITS_PLACE = /(?:^|\$ |&& |; |\$\(|node bin\/)selvedge(?:\.mjs)? (.*)/;

interface Shown {
  /** Text typed after `selvedge`. */
  readonly line: string;
  /** Typed as it stands; in the text a command alone may be no more than its name. */
  readonly isWhole: boolean;
}

/** In code blocks and in the text. */
function shownIn(text: string): Shown[] {
  const blocks = text.split(/^```.*$/m).filter((_, index) => index % 2 === 1);
  const lines = blocks.flatMap((block) => block.replaceAll('\\\n', ' ').split('\n'));
  const spans = [...text.matchAll(/`([^`\n]+)`/g)].map(([, span]) => span ?? '');
  const typed = (texts: readonly string[], isWhole: boolean): Shown[] =>
    texts
      .flatMap((line) => AT_ITS_PLACE.exec(line.trim())?.[1] ?? [])
      .map((line) => ({ line, isWhole }));
  return [...typed(lines, true), ...typed(spans, false)];
}

/** In prose, where a call ends with its marks; else with a word that is neither name nor place. */
function shownInProse(program: Command, text: string): Shown[] {
  const prose = text.replaceAll(/\{\{.*?\}\}|"…"/g, '<>').replaceAll('</code>', '`');
  const calls = prose.matchAll(/(["`]?)(?<!-)\bselvedge ([a-z][^;,.\n'`")]*)/g);
  return [...calls].map(([, quote, sentence = '']) => {
    const line: string[] = [];
    let command = program;
    let isValue = false;
    for (const word of words(sentence)) {
      const next = command.commands.find((one) => one.name() === word);
      const isOpen = quote !== '' || isValue || command.commands.length > 0;
      if (!next && !isOpen && !/^(?:<|-)/.test(word)) break;
      isValue = command.options.some(({ long, required }) => required && long === word);
      command = next ?? command;
      line.push(word);
    }
    return { line: line.join(' '), isWhole: true };
  });
}

/** The strings of a source file, each in one line, with their variables as places to fill in. */
function stringsIn(source: string): string {
  const lines = source.split('\n').filter((line) => !/^\s*(?:\/?\*|\/\/)/.test(line));
  const joined = lines.join('\n').replaceAll(/(?:\\n)?['`] \+\n\s*['`]/g, ' ');
  return joined.replaceAll(/ ?\$\{[^{}`]*(?:`[^`]*`[^{}`]*)*\}/g, ' <>');
}

/** The words up to where the shell goes on with something else; a quoted text is one word. */
function words(line: string): string[] {
  const [typed = ''] = line.split(/\s(?:#|\||&&|[;<>]|2>)(?:\s|$)|\)\s*$/);
  // Brackets around what may be left out are no part of it.
  return [...typed.replaceAll(/[[\]]/g, '').matchAll(/"[^"]*"|'[^']*'|\S+/g)].map(([word]) => word);
}

/** Names the lack of such a call; undefined: none. */
function lackOf(
  command: Command,
  operands: number,
  given: ReadonlySet<Option>,
): string | undefined {
  const needed = command.registeredArguments.filter(({ required }) => required);
  const options = command.options.filter((option) => option.mandatory && !given.has(option));
  const lacks = [
    ...needed.slice(operands).map((argument) => argument.name()),
    ...options.map(({ long }) => long),
  ];
  return lacks.length === 0 ? undefined : `${command.name()} needs ${lacks.join(' and ')}`;
}

/** Names the mistake in a command line; undefined: the program does as it says. */
function mistakeIn(program: Command, { line, isWhole }: Shown): string | undefined {
  let command = program;
  let operands = 0;
  const given = new Set<Option>();
  const rest = words(line);
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === '…' || word === '--help' || word === '--version') continue;
    if (/^--?[a-z]/.test(word)) {
      const [flag = '', value] = word.split('=');
      const known = [...command.options, ...program.options].find(
        ({ short, long }) => flag === short || flag === long,
      );
      if (!known) return `${command.name()} has no ${flag}`;
      if (command.options.includes(known)) given.add(known);
      if ((known.required || known.optional) && value === undefined) rest.shift();
      continue;
    }
    const next = command.commands.find((one) => one.name() === word);
    if (next) command = next;
    else if (command.commands.length > 0) return `${command.name()} has no command ${word}`;
    else operands += 1;
  }
  const most = command.registeredArguments;
  if (operands > most.length && !most.some(({ variadic }) => variadic)) {
    return `${command.name()} takes ${most.length} operands`;
  }
  const isCall = isWhole || operands + given.size > 0;
  return isCall && !line.includes('…') ? lackOf(command, operands, given) : undefined;
}

it('does what documents and hints show: commands, options, and what they must have', async () => {
  const documents = [
    // The page of commands is what they print; their sources are looked through below.
    ...filesBelow('docs', ['.md'])
      .map(({ path }) => path)
      .filter((path) => path !== 'docs/commands.md'),
    ...readdirSync(repositoryRoot).filter((name) => name.endsWith('.md')),
  ];
  const program = await wholeProgram();
  const shown = documents.flatMap((path) =>
    shownIn(readFileSync(join(repositoryRoot, path), 'utf8')).map((one) => ({ path, one })),
  );
  expect(shown.length).toBeGreaterThan(100);
  const sources = filesBelow('src', ['.ts']).filter(({ path }) => !/reference|shells/.test(path));
  for (const path of ['docs/operating/alerts.yaml', ...sources.map((source) => source.path)]) {
    const text = readFileSync(join(repositoryRoot, path), 'utf8');
    const prose = path.endsWith('.ts') ? stringsIn(text) : text;
    shown.push(...shownInProse(program, prose).map((one) => ({ path, one })));
  }
  const wrong = shown.flatMap(({ path, one }) => {
    const mistake = mistakeIn(program, one);
    return mistake === undefined ? [] : [`${path}: selvedge ${one.line} — ${mistake}`];
  });
  expect(wrong).toEqual([]);
});

it('shows of a command that is not loaded what the command says of itself', async () => {
  const help = new Help();
  const shown = (command: Command) => [
    help.subcommandTerm(command),
    help.subcommandDescription(command),
  ];
  const { commands } = await wholeProgram();
  expect((await commandsFor([], context)).map(shown)).toEqual(commands.map(shown));
});

it('loads the one command that is named, below a group as well', async () => {
  for (const group of (await wholeProgram()).commands) {
    for (const command of group.commands) {
      const words = [group.name(), command.name()];
      const loaded = (await commandsFor(words, context)).flatMap(({ commands }) => [...commands]);
      expect(loaded.map((one) => one.name())).toEqual([command.name()]);
    }
  }
});
