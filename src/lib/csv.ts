/** CSV (RFC 4180) that a spreadsheet opens without running what stands in it. */

export type CsvCell = string | number | boolean | null;

/** Text that a spreadsheet would run as a formula, full-width forms included; numbers are safe. */
const FORMULA = /^[=+\-@＝＋－＠\t\r](?!\d+(?:\.\d+)?$)/;

/** How a spreadsheet of some locale wants it. */
export interface CsvManner {
  readonly separator: ',' | ';';
  /** Writes the number of a column. */
  readonly number: (value: number, column: number) => string;
}

const PLAIN: CsvManner = { separator: ',', number: String };

function csvCell(cell: CsvCell, column: number, { separator, number }: CsvManner): string {
  const written = typeof cell === 'number' ? number(cell, column) : String(cell ?? '');
  const text = typeof cell === 'string' && FORMULA.test(written) ? `'${written}` : written;
  const isPlain = !/["\r\n]/.test(text) && !text.includes(separator);
  return isPlain ? text : `"${text.replaceAll('"', '""')}"`;
}

/** Without its line break. */
export function csvLine(cells: readonly CsvCell[], manner = PLAIN): string {
  return cells.map((cell, column) => csvCell(cell, column, manner)).join(manner.separator);
}
