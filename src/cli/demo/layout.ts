/** Text for a terminal of any width from 60 columns: nothing is cut, and no word is torn apart. */

const COLUMNS_MIN = 20;

/** Longer lines are hard to read. */
const COLUMNS_MAX = 110;

/** Width to write in: the last column stays free, some terminals break a line that fills it. */
export function textWidth(columns: number): number {
  return Math.min(COLUMNS_MAX, columns - 1);
}

/**
 * Breaks the text between words; further lines are indented. Longer words stay whole; one that only
 * fits without its indent has none, so that a link stays in one piece.
 */
export function wrap(text: string, columns: number, indent = ''): string[] {
  const width = Math.max(COLUMNS_MIN, columns);
  const indented = (word: string): string =>
    indent.length + word.length <= width ? indent + word : word;
  const begin = text.slice(0, text.length - text.trimStart().length);
  const [first = '', ...words] = text.trim().split(' ');
  const lines: string[] = [];
  let line = begin + first;
  for (const word of words) {
    if (line.length + 1 + word.length <= width) line = `${line} ${word}`;
    else {
      lines.push(line.trimEnd());
      line = indented(word);
    }
  }
  return [...lines, line];
}

/** A title and its entries, side by side as far as they fit; an entry is never torn apart. */
export function entries(title: string, given: readonly string[], columns: number): string[] {
  const width = Math.max(COLUMNS_MIN, columns);
  const lines: string[] = [];
  let line = title;
  let isFirst = true;
  for (const entry of given) {
    const joined = isFirst ? `${line}${entry}` : `${line} · ${entry}`;
    if (!isFirst && joined.length > width) {
      lines.push(line);
      line = `${' '.repeat(title.length)}${entry}`;
    } else line = joined;
    isFirst = false;
  }
  return [...lines, line.trimEnd()];
}

/** Rows of the terminal that the lines fill: a window that became narrower breaks them. */
export function rowsOf(lines: readonly string[], columns: number): number {
  return lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / columns)), 0);
}
