/** Writes CSV (RFC 4180, or as a locale has it) from which a spreadsheet runs no formula. */

import { hasDecimalComma, knownLocale } from './strings.ts';

export type CsvCell = string | number | boolean | null;

/** Text that a spreadsheet would run as a formula, full-width forms included; numbers are safe. */
const FORMULA = /^[=+\-@＝＋－＠\t\r](?!\d+(?:\.\d+)?$)/;

/** Form of CSV that a spreadsheet of some locale expects. */
export interface CsvManner {
  readonly separator: ',' | ';';
  /** Writes a number; the column may decide how. */
  readonly number: (value: number, column: number) => string;
}

/** Form of CSV for programs: RFC 4180. */
const PLAIN_CSV: CsvManner = { separator: ',', number: String };

const COMMA_CSV: CsvManner = {
  separator: ';',
  number: (value) => String(value).replace('.', ','),
};

/** Form of CSV that spreadsheets of a locale expect; undefined: the locale is unknown. */
export function csvMannerOf(locale: string): CsvManner | undefined {
  const known = knownLocale(locale);
  if (known === undefined) return undefined;
  return hasDecimalComma(known) ? COMMA_CSV : PLAIN_CSV;
}

function csvCell(cell: CsvCell, column: number, { separator, number }: CsvManner): string {
  const written = typeof cell === 'number' ? number(cell, column) : String(cell ?? '');
  const text = typeof cell === 'string' && FORMULA.test(written) ? `'${written}` : written;
  const isPlain = !/["\r\n]/.test(text) && !text.includes(separator);
  return isPlain ? text : `"${text.replaceAll('"', '""')}"`;
}

/** Writes one row, without a line break at its end. */
export function csvLine(cells: readonly CsvCell[], manner = PLAIN_CSV): string {
  return cells.map((cell, column) => csvCell(cell, column, manner)).join(manner.separator);
}
