/** CSV (RFC 4180, or as a place has it) that a spreadsheet opens without running what is in it. */

export type CsvCell = string | number | boolean | null;

export interface CsvStyle {
  readonly separator: ',' | ';';
  readonly decimal: '.' | ',';
  /** At the beginning of the text: without it, spreadsheets take UTF-8 for something else. */
  readonly mark: '' | '\uFEFF';
}

/** For programs. */
export const RFC_4180: CsvStyle = { separator: ',', decimal: '.', mark: '' };

/** How spreadsheets of a place read CSV; undefined: the place is not known. */
export function csvStyleOf(locale: string): CsvStyle | undefined {
  try {
    const [known] = Intl.NumberFormat.supportedLocalesOf(locale);
    if (known === undefined) return undefined;
    const parts = new Intl.NumberFormat(known).formatToParts(1.5);
    const hasComma = parts.some(({ type, value }) => type === 'decimal' && value === ',');
    return hasComma
      ? { separator: ';', decimal: ',', mark: '\uFEFF' }
      : { separator: ',', decimal: '.', mark: '\uFEFF' };
  } catch {
    return undefined;
  }
}

/** Text that a spreadsheet would run as a formula, full-width forms included; numbers are safe. */
const FORMULA = /^[=+\-@＝＋－＠\t\r](?!\d+(?:\.\d+)?$)/;

function csvCell(cell: CsvCell, { decimal }: CsvStyle): string {
  const written = cell === null ? '' : String(cell);
  if (typeof cell === 'number') return written.replace('.', decimal);
  const text = typeof cell === 'string' && FORMULA.test(written) ? `'${written}` : written;
  return /[",;\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Without its line break. */
export function csvLine(cells: readonly CsvCell[], style = RFC_4180): string {
  return cells.map((cell) => csvCell(cell, style)).join(style.separator);
}
