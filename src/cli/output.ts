/**
 * Output of commands: results to standard output (a table for people, JSON for programs), all
 * else to standard error. A reader that goes away early (`| head`) is no error. Texts come from
 * outside: what would steer the terminal is shown instead.
 */
import { styleText } from 'node:util';
import { isJsonObject } from '../lib/json.ts';
import { visible } from '../lib/strings.ts';
import { tableLines } from './table.ts';

type Style = Parameters<typeof styleText>[0];

/** A stream of text such as `process.stdout`. */
export interface TextSink {
  write(text: string | Uint8Array): unknown;
  on?(event: 'error', listener: (error: Error) => void): unknown;
  readonly isTTY?: boolean | undefined;
  /** Width of a terminal, which changes with its window. */
  readonly columns?: number | undefined;
}

export interface Output {
  /** A line of the result. */
  line(text?: string): void;
  /** A line for programs: as it is, unless a person is watching. */
  data(text: string): void;
  /** A file for programs, byte by byte; only for what holds no secret of the configuration. */
  bytes(content: Uint8Array): void;
  /** A sequence of our own that steers the terminal. */
  control(sequence: string): void;
  /** A value as indented JSON: the whole result of a `--json` command. */
  json(value: unknown): void;
  /** Rows under their titles, columns aligned and, on a terminal, fitted to its width. */
  table(titles: readonly string[], rows: readonly (readonly string[])[]): void;
  /** A remark for the person at the terminal, on standard error. */
  note(text: string): void;
  /** Overwrites the line that says how far a command is; no text takes it away. */
  progress(text: string): void;
  /** Whether somebody can see that line: standard error is a terminal. */
  readonly hasProgress: boolean;
  /** Text for the next line, in colour where it is for a terminal and NO_COLOR is not set. */
  style(style: Style, text: string): string;
  /** Whether a person is watching standard output. */
  readonly isTerminal: boolean;
  /** Width of the terminal now; 80 where there is none. */
  readonly columns: () => number;
  /** Whether the reader of standard output has gone: a command that goes on may stop. */
  readonly isClosed: () => boolean;
}

/** A line, or several, with nothing in it that steers a terminal but our own pieces, each once. */
function shownBut([piece, ...others]: readonly string[], text: string): string {
  if (piece === undefined) return visible(text, '\n\t');
  const at = text.indexOf(piece);
  if (at < 0) return shownBut(others, text);
  const before = shownBut(others, text.slice(0, at));
  return before + piece + shownBut(others, text.slice(at + piece.length));
}

const DEFAULT_COLUMNS = 80;

const ERASE_LINE = '\r\u001b[2K';

/** Terminal colours follow the conventions of NO_COLOR and FORCE_COLOR. */
function wantsColour(sink: TextSink, env: Readonly<Record<string, string | undefined>>): boolean {
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== '') return false;
  if (env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== '0') return true;
  return sink.isTTY === true && env.TERM !== 'dumb';
}

/** A closed pipe, and a terminal that went away. */
const READER_GONE = new Set<unknown>(['EPIPE', 'EIO']);

/** Stops writing, quietly, once the reader is gone: what goes on ends in its own order. */
function quietWriter(
  sink: TextSink,
  scrub: (text: string) => string,
): { write(text: string): void; bytes(content: Uint8Array): void; isClosed(): boolean } {
  let closed = false;
  sink.on?.('error', (error) => {
    if (!isJsonObject(error) || !READER_GONE.has(error.code)) throw error;
    closed = true;
  });
  return {
    write(text) {
      if (!closed) sink.write(scrub(text));
    },
    bytes(content) {
      if (!closed) sink.write(content);
    },
    isClosed: () => closed,
  };
}

/** Everything written passes `scrub`, which takes out secrets that found their way into a text. */
export function createOutput(
  stdout: TextSink,
  stderr: TextSink,
  env: Readonly<Record<string, string | undefined>>,
  scrub: (text: string) => string = (text) => text,
): Output {
  const out = quietWriter(stdout, scrub);
  const remarks = quietWriter(stderr, scrub);
  const isColoured = wantsColour(stdout, env);
  // Styled pieces of the next line: any other colour came from outside.
  const styled: string[] = [];
  const shown = (text: string): string => shownBut(styled.splice(0), text);
  const hasProgress = stderr.isTTY === true && env.TERM !== 'dumb';
  let isShown = false;
  const eraseProgress = (): string => {
    const erase = isShown ? ERASE_LINE : '';
    isShown = false;
    return erase;
  };
  const style = (name: Style, text: string): string => {
    if (!isColoured) return text;
    const made = styleText(name, visible(text), { validateStream: false });
    styled.push(made);
    return made;
  };
  return {
    line: (text = '') => out.write(`${shown(text)}\n`),
    data: (text) => out.write(`${stdout.isTTY === true ? shown(text) : text}\n`),
    bytes: out.bytes,
    control: (sequence) => out.write(sequence),
    json: (value) => out.write(`${shown(JSON.stringify(value, null, 2))}\n`),
    table(titles, given) {
      const rows = given.map((row) => row.map((cell) => visible(cell)));
      const width = stdout.isTTY === true ? stdout.columns || DEFAULT_COLUMNS : undefined;
      for (const line of tableLines(titles, rows, { width, isColoured })) out.write(`${line}\n`);
    },
    note(text) {
      remarks.write(`${eraseProgress()}${shown(text)}\n`);
    },
    progress(text) {
      if (!hasProgress) return;
      const erase = eraseProgress();
      isShown = text !== '';
      remarks.write(`${erase}${shown(text)}`);
    },
    hasProgress,
    style,
    isTerminal: stdout.isTTY === true,
    // A terminal that does not know its width says 0.
    columns: () => stdout.columns || DEFAULT_COLUMNS,
    isClosed: out.isClosed,
  };
}
