/** The frame of all commands: global options, help, errors and exit codes. */
import { flushCompileCache } from 'node:module';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { Command, CommanderError, Help, type Option } from 'commander';
import { EXIT, exitCodeOf, isDiskFull, SelvedgeError, toError } from '../lib/errors.ts';
import { isJournald } from '../lib/log/journald.ts';
import { createScrubber } from '../lib/secret.ts';
import { version } from '../ops/version.ts';
import { type CliContext, examples } from './command.ts';
import { commandsFor } from './commands.ts';
import { createOutput, type Output, type TextSink } from './output.ts';
import { requireOverUrl } from './remote/over-url.ts';

/** Streams and environment of the process, injected for tests. */
export interface CliIo {
  readonly stdout: TextSink;
  readonly stderr: TextSink;
  /** Gives the input for questions; nobody is asked unless it is a terminal. */
  readonly stdin?: () => NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
}

function exitCodeTable(): string {
  const rows = Object.values(EXIT).map(
    ({ code, meaning }) => `  ${String(code).padStart(3)}  ${meaning}`,
  );
  const json = [
    'With --json, times are epoch milliseconds or texts in UTC (2026-03-31T18:00:00.000Z),',
    'and money is a decimal number (67.5).',
  ].join('\n');
  const more = 'More: docs/, and the comments of config/selvedge.yaml';
  return `\nExit codes:\n${rows.join('\n')}\n\n${json}\n\n${more}`;
}

/** Describes an option in the help: marks required ones, and leaves out an empty default. */
function optionDescription(option: Option): string {
  const text = new Help().optionDescription(option);
  if (option.mandatory) return `${text} (required)`;
  return text.replace(/ \(default: (""|\[\]|\{\})\)$/, '');
}

/** Gives a command, and everything below it, the common help and error output. */
function frame(command: Command, output: Output, stderr: TextSink, stdout: TextSink): Command {
  command
    .exitOverride()
    .helpCommand(false)
    .showSuggestionAfterError()
    .showHelpAfterError('(--help shows what can be given)')
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      outputError: (text, write) => write(text.replace(/^error: /, 'selvedge: ')),
      getOutHasColors: () => output.style('bold', 'x') !== 'x',
      getErrHasColors: () => false,
    })
    .configureHelp({
      styleTitle: (title) => output.style('bold', title),
      optionDescription,
      helpWidth: 90,
    });
  for (const child of command.commands) frame(child, output, stderr, stdout);
  return command;
}

/** Makes the program with the commands that the command line may lead to: see commands.ts. */
async function createProgram(
  args: readonly string[],
  context: CliContext,
  io: CliIo,
): Promise<Command> {
  const program = new Command('selvedge')
    .description(
      'ERP synchronization daemon: mirrors a Sales, Purchase and Product Data Service into\n' +
        'SQLite, decides packed deliveries by rules, and pushes the decisions back.',
    )
    .version(version(), '-V, --version', 'show the version')
    .option(
      '-c, --config <file>',
      'the configuration (else $SELVEDGE_CONFIG, else /etc/selvedge/selvedge.yaml)',
    )
    .option(
      '--url <address>',
      'ask the console at this address (https://host:port) instead of this machine',
    )
    .option(
      '--token-file <file>',
      'with --url: the file that holds the token (else $SELVEDGE_TOKEN_FILE)',
    )
    .hook('preAction', (_program, command) => requireOverUrl(command))
    .helpOption('-h, --help', 'show this help');
  program.addHelpText(
    'after',
    examples([
      ['init', 'write a configuration that fits your account'],
      ['config check', 'find every mistake in the configuration'],
      ['config show --changed', 'what was changed, and where'],
    ]) + exitCodeTable(),
  );
  frame(program, context.output, io.stderr, io.stdout);
  // The words are parsed as they are when the program runs; `--version` ends the program here.
  const { operands } = program.parseOptions([...args]);
  for (const command of await commandsFor(operands, context)) {
    program.addCommand(frame(command, context.output, io.stderr, io.stdout));
  }
  return program;
}

function reportError(error: Error, { env, output }: CliContext): number {
  // Errors get a priority under journald, so that a search for warnings finds why a daemon does not
  // start.
  const priority = isJournald(env, process.stderr.fd) ? '<3>' : '';
  const tell = (text: string): void => output.note(text.replace(/^(?=.)/gm, priority));
  tell(`selvedge: ${error.message}`);
  if (error instanceof SelvedgeError) {
    if (error.hint !== undefined) tell(`hint: ${error.hint}`);
    return exitCodeOf(error);
  }
  if (isDiskFull(error)) {
    tell('hint: free space on that disk, and try again');
    return exitCodeOf(error);
  }
  // Any other error is unexpected, and a bug report needs its stack.
  tell(error.stack ?? '');
  return EXIT.bug.code;
}

/** Explains what became of a command that commander does not know, if it was renamed or removed. */
async function noteRenamed(words: readonly string[], output: Output): Promise<void> {
  const { renamedHint } = await import('../lib/reading/renamed.ts');
  const [first = '', second = ''] = words;
  const hint = renamedHint('commands', `${first} ${second}`) ?? renamedHint('commands', first);
  if (hint !== undefined) output.note(`hint: ${hint}`);
}

async function ask(io: CliIo, question: string, isSecret = false): Promise<string | undefined> {
  const input = io.stdout.isTTY === true ? io.stdin?.() : undefined;
  if (input?.isTTY !== true) return undefined;
  // Reading key by key switches the terminal's echo off, and nothing is written in its place.
  const nowhere = { output: new Writable({ write: (_chunk, _coding, done) => done() }) };
  const lines = createInterface({ input, ...(isSecret ? { ...nowhere, terminal: true } : {}) });
  try {
    io.stderr.write(question);
    return await lines.question('');
  } finally {
    lines.close();
    if (isSecret) io.stderr.write('\n');
  }
}

/** Runs one command line (without `node` and the program's name) and returns its exit code. */
export async function runCli(args: readonly string[], io: CliIo): Promise<number> {
  const scrubber = createScrubber();
  const output = createOutput(io.stdout, io.stderr, io.env, scrubber.scrub);
  let exitCode: number = EXIT.ok.code;
  const context: CliContext = {
    env: io.env,
    output,
    scrubber,
    ask: (question) => ask(io, question),
    askSecret: (question) => ask(io, question, true),
    setExitCode: (code) => {
      exitCode = code;
    },
  };
  let words: readonly string[] = [];
  try {
    const program = await createProgram(args, context, io);
    words = program.parseOptions([...args]).operands;
    // The compile cache is written now, not at the exit: a daemon may be killed.
    flushCompileCache();
    await program.parseAsync([...args], { from: 'user' });
    return exitCode;
  } catch (thrown) {
    if (thrown instanceof CommanderError) {
      if (thrown.code === 'commander.unknownCommand') await noteRenamed(words, output);
      return thrown.exitCode === 0 ? EXIT.ok.code : EXIT.usage.code;
    }
    const error = toError(thrown);
    // A script that asked for JSON reads the code of a refusal where it would read the answer.
    if (args.includes('--json') && error instanceof SelvedgeError) {
      const { code, message, hint } = error;
      output.json({ code, message, hint });
    }
    return reportError(error, context);
  }
}
