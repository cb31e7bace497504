/**
 * Makes tables for people: numbers to the right, states in colour, and texts cut so that a row
 * stays on one line of the terminal. Without a terminal nothing is cut: programs read such output
 * too.
 */
import { styleText } from 'node:util';

const GAP = '  ';
/** Minimum width to which a column of texts is narrowed, whatever the terminal's width. */
const TEXT_WIDTH_MIN = 6;
const CUT = '…';

const NUMBER = /^-?\d[\d.,]*(?: [A-Z]{3})?$/;
/** Matches ids, document numbers and the like, which are of no use without their end. */
const IDENTIFIER = /^(?=\S*\d)\S{1,16}$/;
/** Matches a cell that says that there is no value. */
const NOTHING = /^[-?]?$/;

/** Matches characters that take two columns: of East Asia, and pictures. */
const WIDE =
  /\p{Script=Han}|\p{Script=Kana}|\p{Script=Hira}|\p{Script=Hang}|\p{Emoji_Presentation}/u;
/** Matches characters that take no column: combining accents, and joiners. */
const NARROWEST = /[\p{Mn}\p{Me}\u200b-\u200d]/u;

/** Matches nearly all texts: printable ASCII, whose width is its length. */
const PLAIN = /^[\x20-\x7e]*$/;

type Colour = Parameters<typeof styleText>[0];

/** Titles of columns whose cells begin with a state. */
const STATE_TITLES = new Set(['STATE', 'STATUS', 'DECISION', 'OUTCOME', 'PUSH', 'HOLD ENDS']);

const STATES: ReadonlyMap<string, Colour> = new Map<string, Colour>(
  Object.entries({
    green: ['accepted', 'accept', 'confirmed', 'complete', 'done', 'shipped'],
    yellow: ['held', 'hold', 'partial', 'queued', 'paused', 'retrying', 'in_doubt', 'suspicious'],
    red: ['rejected', 'reject', 'refused', 'dead', 'failed', 'OVERDUE'],
  } as const).flatMap(([colour, words]) =>
    words.map(
      (word) => [word, colour === 'green' || colour === 'red' ? colour : 'yellow'] as const,
    ),
  ),
);

function charWidth(char: string): number {
  if (NARROWEST.test(char)) return 0;
  return WIDE.test(char) ? 2 : 1;
}

/** Number of terminal columns that a text takes. */
function widthOf(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const char of text) width += charWidth(char);
  return width;
}

/** Cuts a text to a width, with a sign that there is more. */
function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = '';
  let left = width - 1;
  for (const char of text) {
    left -= charWidth(char);
    if (left < 0) break;
    kept += char;
  }
  return kept.trimEnd() + CUT;
}

function colourOf(title: string, cell: string): Colour | undefined {
  if (!STATE_TITLES.has(title)) return undefined;
  if (/needs attention|STALE|\(gone\)|, (?:refused|given up|outcome unknown)/.test(cell))
    return 'red';
  if (/being sent|, not (?:sent|confirmed)/.test(cell)) return 'yellow';
  return STATES.get(/^\w+/.exec(cell)?.[0] ?? '');
}

/**
 * Whether a column holds numbers. The first column never counts, because it names the row and stays
 * to the left.
 */
function isNumeric(column: number, cells: readonly string[]): boolean {
  const values = cells.filter((cell) => !NOTHING.test(cell));
  return column > 0 && values.length > 0 && values.every((cell) => NUMBER.test(cell));
}

interface Column {
  readonly title: string;
  readonly numeric: boolean;
  readonly width: number;
  /** Minimum width to which the column may be narrowed. */
  readonly least: number;
}

function columnOf(title: string, at: number, rows: readonly (readonly string[])[]): Column {
  const cells = rows.map((row) => row[at] ?? '');
  const numeric = isNumeric(at, cells);
  const width = cells.reduce((most, cell) => Math.max(most, widthOf(cell)), widthOf(title));
  const isWhole =
    numeric || at === 0 || cells.every((cell) => IDENTIFIER.test(cell) || NOTHING.test(cell));
  const least = isWhole ? width : Math.min(width, Math.max(TEXT_WIDTH_MIN, widthOf(title)));
  return { title, numeric, width, least };
}

/** Narrows the widest columns until the table fits, or no column can be narrowed any more. */
function fitted(columns: readonly Column[], width: number): readonly Column[] {
  const gaps = GAP.length * (columns.length - 1);
  let fitting = columns;
  let over = gaps - width + columns.reduce((sum, column) => sum + column.width, 0);
  while (over > 0) {
    const open = fitting.filter((column) => column.width > column.least);
    const widest = open.toSorted((a, b) => b.width - a.width)[0];
    if (!widest) break;
    const narrower = { ...widest, width: widest.width - 1 };
    fitting = fitting.map((column) => (column === widest ? narrower : column));
    over -= 1;
  }
  return fitting;
}

export interface TableLook {
  /** Width of the terminal in columns; undefined: no terminal, and nothing is cut. */
  readonly width: number | undefined;
  readonly isColoured: boolean;
}

/** Makes the lines of a table, the titles first. Cells must not contain control characters. */
export function tableLines(
  titles: readonly string[],
  rows: readonly (readonly string[])[],
  { width, isColoured }: TableLook,
): readonly string[] {
  const natural = titles.map((title, at) => columnOf(title, at, rows));
  const columns = width === undefined ? natural : fitted(natural, width);
  const paint = (colour: Colour | undefined, text: string): string =>
    isColoured && colour !== undefined && text !== ''
      ? styleText(colour, text, { validateStream: false })
      : text;
  const lineOf = (
    cells: readonly string[],
    colours: (cell: string, at: number) => Colour | undefined,
  ) =>
    columns
      .map((column, at) => {
        const text = cut(cells[at] ?? '', column.width);
        const space = ' '.repeat(Math.max(0, column.width - widthOf(text)));
        const shown = paint(colours(cells[at] ?? '', at), text);
        if (column.numeric) return space + shown;
        return at === columns.length - 1 ? shown : shown + space;
      })
      .join(GAP)
      .trimEnd();
  const head = lineOf(titles, () => undefined);
  return [
    paint('bold', head),
    ...rows.map((row) => lineOf(row, (cell, at) => colourOf(titles[at] ?? '', cell))),
  ];
}
