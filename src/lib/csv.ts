/** CSV (RFC 4180, or as a place has it) that a spreadsheet opens without running what is in it. */

import { hasDecimalComma, knownLocale } from './strings.ts';

export type CsvCell = string | number | boolean | null;

/** Text that a spreadsheet would run as a formula, full-width forms included; numbers are safe. */
const FORMULA = /^[=+\-@＝＋－＠\t\r](?!\d+(?:\.\d+)?$)/;

/** How a spreadsheet of some locale wants it. */
export interface CsvManner {
  readonly separator: ',' | ';';
  /** Writes the number of a column. */
  readonly number: (value: number, column: number) => string;
}

/** RFC 4180, for programs. */
const PLAIN_CSV: CsvManner = { separator: ',', number: String };

const COMMA_CSV: CsvManner = {
  separator: ';',
  number: (value) => String(value).replace('.', ','),
};

/** How spreadsheets of a place read CSV; undefined: the place is not known. */
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

/** Without its line break. */
export function csvLine(cells: readonly CsvCell[], manner = PLAIN_CSV): string {
  return cells.map((cell, column) => csvCell(cell, column, manner)).join(manner.separator);
}
