/**
 * Output of commands: results to standard output (a table for people, JSON for programs), all else
 * to standard error. A reader that goes away early (`| head`) is no error. Control characters in
 * texts from outside are escaped, so that they cannot steer the terminal.
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
  /** Width of the terminal in columns, which changes with its window. */
  readonly columns?: number | undefined;
}

export interface Output {
  /** Writes a line of the result. */
  line(text?: string): void;
  /** Writes a line for programs, unchanged unless standard output is a terminal. */
  data(text: string): void;
  /**
   * Writes a file for programs byte by byte; it is not scrubbed, so it must hold no secret of the
   * configuration.
   */
  bytes(content: Uint8Array): void;
  /** Writes a control sequence of our own for the terminal. */
  control(sequence: string): void;
  /** Writes a value as indented JSON: the whole result of a `--json` command. */
  json(value: unknown): void;
  /** Writes a table: rows under titles, columns aligned and, on a terminal, fitted to its width. */
  table(titles: readonly string[], rows: readonly (readonly string[])[]): void;
  /** Writes a remark for the person at the terminal, to standard error. */
  note(text: string): void;
  /** Overwrites the line that says how far a command is; other output does not remove it. */
  progress(text: string): void;
  /** Whether the progress line can be seen: standard error is a terminal. */
  readonly hasProgress: boolean;
  /** Styles part of the next line; in colour if it goes to a terminal and NO_COLOR is not set. */
  style(style: Style, text: string): string;
  /** Whether standard output is a terminal. */
  readonly isTerminal: boolean;
  /** Gives the width of the terminal in columns now; 80 without a terminal. */
  readonly columns: () => number;
  /** Whether the reader of standard output has gone, so that a command may stop. */
  readonly isClosed: () => boolean;
}

/**
 * Escapes control characters in a text, except those of our own styled pieces, each of which counts
 * once.
 */
function shownBut([piece, ...others]: readonly string[], text: string): string {
  if (piece === undefined) return visible(text, '\n\t');
  const at = text.indexOf(piece);
  if (at < 0) return shownBut(others, text);
  const before = shownBut(others, text.slice(0, at));
  return before + piece + shownBut(others, text.slice(at + piece.length));
}

const DEFAULT_COLUMNS = 80;

const ERASE_LINE = '\r\u001b[2K';

/** Whether to write in colour, by the conventions of NO_COLOR and FORCE_COLOR. */
function wantsColour(sink: TextSink, env: Readonly<Record<string, string | undefined>>): boolean {
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== '') return false;
  if (env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== '0') return true;
  return sink.isTTY === true && env.TERM !== 'dumb';
}

/** Error codes of a closed pipe, and of a terminal that went away. */
const READER_GONE = new Set<unknown>(['EPIPE', 'EIO']);

/**
 * Makes a writer that quietly stops once the reader is gone, so that the command ends in its order.
 */
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

/**
 * Makes the output of commands. All text passes `scrub`, which removes secrets that got into it.
 */
export function createOutput(
  stdout: TextSink,
  stderr: TextSink,
  env: Readonly<Record<string, string | undefined>>,
  scrub: (text: string) => string = (text) => text,
): Output {
  const out = quietWriter(stdout, scrub);
  const remarks = quietWriter(stderr, scrub);
  const isColoured = wantsColour(stdout, env);
  // Only the styled pieces of the next line may have colours: any other colour came from outside.
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
    // A terminal that does not know its width reports 0.
    columns: () => stdout.columns || DEFAULT_COLUMNS,
    isClosed: out.isClosed,
  };
}
