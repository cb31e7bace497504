/** Masks the rows of a report for a session that may not see who a customer is. */
import { RefusedError } from '../../lib/errors.ts';
import { tryParseJson } from '../../lib/json.ts';
import { MASK } from '../../lib/reading/quoted.ts';
import type { Rows } from '../../report/pivot.ts';
import type { Cell } from '../../report/query.ts';
import type { Report } from '../../report/report-file.ts';
import { peopleIn } from '../../store/tables/people.ts';
import { maskPrivate } from '../mask.ts';

/** Columns of the mirror that hold nothing but private texts. */
const PRIVATE_WORDS = Object.keys(peopleIn('sales_order'))
  .filter((name) => name !== 'extra')
  .concat(['address', 'email', 'phone']);

/** Columns with free text, which may quote private texts and is therefore blanked. */
const FREE = new Set([
  'reason',
  'note',
  'detail',
  'message',
  'error',
  'last_error',
  'answer',
  'says',
  'text',
  'facts',
  'body',
  'diff',
  'extra',
  'evidence',
  'blocked_reason',
  'comment',
]);

function memberName(column: string): string {
  return column
    .toLowerCase()
    .replaceAll(/_([a-z0-9])/g, (_all, letter: string) => letter.toUpperCase());
}

/**
 * Refuses a report that reads a private column under another name, because masking goes by the
 * names.
 * @throws RefusedError `report.private`
 */
function requireNamed({ sql, file }: Report, columns: readonly string[]): void {
  const names = columns.map((name) => name.toLowerCase());
  const hidden = PRIVATE_WORDS.find(
    (word) =>
      new RegExp(`\\b${word}\\b`, 'i').test(sql) &&
      !names.includes(word) &&
      !(word === 'company' && names.includes('customer')),
  );
  if (hidden === undefined) return;
  const message = `${file}: it reads ${hidden}, which you may not see, under another name`;
  throw new RefusedError('report.private', message, {
    hint: 'ask somebody who may see names and addresses',
  });
}

function maskedCell(column: string, cell: Cell): Cell {
  if (typeof cell !== 'string' || cell === '') return cell;
  if (FREE.has(column.toLowerCase())) return MASK;
  if (!/^[[{]/.test(cell)) return cell;
  const parsed = tryParseJson(cell);
  return parsed === undefined ? cell : JSON.stringify(maskPrivate(parsed));
}

/** Masks names and addresses in a report's rows; refuses renamed private columns. */
export function maskRows(report: Report, { columns, rows }: Rows): Rows {
  requireNamed(report, columns);
  const names = columns.map(memberName);
  const masked = (row: readonly Cell[]): Cell[] => {
    // Each cell becomes an object of its own, because two columns may have the same name.
    const cells = names.map((name, index) => ({
      [name]: maskedCell(columns[index] ?? '', row[index] ?? null),
    }));
    return maskPrivate(cells).map((cell, index) => cell[names[index] ?? ''] ?? null);
  };
  return { columns, rows: rows.map(masked) };
}
