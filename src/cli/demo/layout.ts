/** Lays out text for a terminal of any width from 60 columns: nothing is cut, no word is broken. */

const COLUMNS_MIN = 20;

/** Maximum columns of a line, because longer lines are hard to read. */
const COLUMNS_MAX = 110;

/**
 * Columns to write in: the last one stays free, because some terminals break a line that fills it.
 */
export function textWidth(columns: number): number {
  return Math.min(COLUMNS_MAX, columns - 1);
}

/**
 * Breaks a text into lines between words; further lines are indented. Longer words stay whole; a
 * word that only fits without the indent has none, so that a link stays in one piece.
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

/** Lays out a title and its entries, as many in a line as fit; no entry is broken. */
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

/** Number of terminal rows that these lines fill; a window that became narrower breaks them. */
export function rowsOf(lines: readonly string[], columns: number): number {
  return lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / columns)), 0);
}
