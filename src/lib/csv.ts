/** CSV (RFC 4180) that a spreadsheet opens without running what stands in it. */

export type CsvCell = string | number | boolean | null;

/** Text that a spreadsheet would run as a formula, full-width forms included; numbers are safe. */
const FORMULA = /^[=+\-@＝＋－＠\t\r](?!\d+(?:\.\d+)?$)/;

function csvCell(cell: CsvCell): string {
  const written = cell === null ? '' : String(cell);
  const text = typeof cell === 'string' && FORMULA.test(written) ? `'${written}` : written;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Without its line break. */
export function csvLine(cells: readonly CsvCell[]): string {
  return cells.map(csvCell).join(',');
}
