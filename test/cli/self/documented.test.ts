/** Every command line that the documents show is one that the program knows. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { expect, it } from 'vitest';
import { COMMAND_TREE } from '../../../src/cli/commands.ts';
import { createOutput } from '../../../src/cli/output.ts';
import { createScrubber } from '../../../src/lib/secret.ts';
import { filesBelow, repositoryRoot } from '../../support/source.ts';

const sink = { write: () => undefined };
const scrubber = createScrubber();
const context = {
  ...{ env: {}, scrubber, output: createOutput(sink, sink, {}, scrubber.scrub) },
  ask: async () => undefined,
  setExitCode: () => undefined,
};

function commandTree(): Command {
  const program = new Command('selvedge').option('-c, --config <file>');
  for (const create of COMMAND_TREE.commands) program.addCommand(create(context));
  for (const { name, commands } of COMMAND_TREE.groups) {
    const group = new Command(name);
    for (const create of commands) group.addCommand(create(context));
    program.addCommand(group);
  }
  return program;
}

const AT_ITS_PLACE =
  /(?:^|\$ |&& |; |\$\(|sudo (?:-u selvedge )?|node bin\/)selvedge(?:\.mjs)? (.*)/;

/** What is typed after `selvedge`, in code blocks and in the text. */
function shownIn(text: string): string[] {
  const blocks = text.split(/^```.*$/m).filter((_, index) => index % 2 === 1);
  const lines = blocks.flatMap((block) => block.replaceAll('\\\n', ' ').split('\n'));
  const spans = [...text.matchAll(/`([^`\n]+)`/g)].map(([, span]) => span ?? '');
  return [...lines, ...spans].flatMap((line) => AT_ITS_PLACE.exec(line.trim())?.[1] ?? []);
}

/** The words up to where the shell goes on with something else; a quoted text is one word. */
function words(line: string): string[] {
  const [typed = ''] = line.split(/\s(?:#|\||&&|[;<>]|2>)(?:\s|$)|\)\s*$/);
  // Brackets around what may be left out are no part of it.
  return [...typed.replaceAll(/[[\]]/g, '').matchAll(/"[^"]*"|'[^']*'|\S+/g)].map(([word]) => word);
}

/** What is wrong with a command line; undefined: the program knows it. */
function mistakeIn(program: Command, line: string): string | undefined {
  let command = program;
  let operands = 0;
  const rest = words(line);
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === '…' || word === '--help' || word === '--version') continue;
    if (/^--?[a-z]/.test(word)) {
      const [flag = '', value] = word.split('=');
      const known = [...command.options, ...program.options].find(
        ({ short, long }) => flag === short || flag === long,
      );
      if (!known) return `${command.name()} has no ${flag}`;
      if ((known.required || known.optional) && value === undefined) rest.shift();
      continue;
    }
    const next = command.commands.find((one) => one.name() === word);
    if (next) command = next;
    else if (command.commands.length > 0) return `${command.name()} has no command ${word}`;
    else operands += 1;
  }
  const most = command.registeredArguments;
  if (most.some(({ variadic }) => variadic) || operands <= most.length) return undefined;
  return `${command.name()} takes ${most.length} operands`;
}

it('knows the commands and options that the documents show', () => {
  const documents = [
    ...filesBelow('docs', ['.md']).map(({ path }) => path),
    ...readdirSync(repositoryRoot).filter((name) => name.endsWith('.md')),
  ];
  const program = commandTree();
  const shown = documents.flatMap((path) =>
    shownIn(readFileSync(join(repositoryRoot, path), 'utf8')).map((line) => ({ path, line })),
  );
  expect(shown.length).toBeGreaterThan(100);
  const wrong = shown.flatMap(({ path, line }) => {
    const mistake = mistakeIn(program, line);
    return mistake === undefined ? [] : [`${path}: selvedge ${line} — ${mistake}`];
  });
  expect(wrong).toEqual([]);
});
