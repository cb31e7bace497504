/**
 * A report as a workbook: numbers are numbers, dates dates, and all else text, so that a barcode
 * keeps its digits and no text is taken for a formula. Title and header stay in view.
 */
import type { CellObject } from 'write-excel-file/node';
import { localClockOf } from '../lib/local-time.ts';
import { momentOf } from './cells.ts';
import { describeRun, type ReportDocument } from './document.ts';
import { createHeat, type Heat } from './heat.ts';
import type { Cell } from './query.ts';
import type { ColumnKind } from './report-head.ts';
import { isNumeric } from './table.ts';

/** A workbook refuses more in a cell. */
const CELL_CHARS_MAX = 32_767;
const SHEET_CHARS_MAX = 31;
const WIDTH_MIN = 8;
const WIDTH_MAX = 60;

const NUMBER_FORMATS: Readonly<Partial<Record<ColumnKind, string>>> = {
  amount: '#,##0.00',
  count: '#,##0',
  percent: '0.0%',
};

/** Grounds of heat, from weak to strong, above and below zero; black can be read on each. */
const WARM = ['#e8f1fb', '#c9dff5', '#9fc6ec', '#74abe0'];
const COLD = ['#fdeaea', '#fbd0d2', '#f5a9ad', '#ee8389'];

function groundOf(level: number): { readonly backgroundColor?: string } {
  const backgroundColor = (level < 0 ? COLD : WARM)[Math.abs(level) - 1];
  return backgroundColor === undefined ? {} : { backgroundColor };
}

function textOf(value: string): CellObject {
  const fits = value.length <= CELL_CHARS_MAX;
  const shown = fits ? value : `${value.slice(0, CELL_CHARS_MAX - 1)}…`;
  return { value: shown, type: String, format: '@' };
}

function numberOf(kind: ColumnKind, value: number): CellObject {
  if (kind === 'percent') return { value: value / 100, type: Number, format: '0.0%' };
  const whole = Number.isInteger(value) ? { format: '0' } : {};
  const format = NUMBER_FORMATS[kind];
  return { value, type: Number, ...(format === undefined ? whole : { format }) };
}

/** A cell has no zone: a moment is written as the clock on the wall shows it. */
function dateOf(cell: Cell, timeZone: string): CellObject | undefined {
  const moment = momentOf(cell);
  if (!moment) return undefined;
  if (moment.isDay) return { value: new Date(moment.at), type: Date, format: 'yyyy-mm-dd' };
  const { date, time } = localClockOf(timeZone)(moment.at);
  const seconds = new Date(moment.at).toISOString().slice(17, 19);
  const value = new Date(`${date}T${time}:${seconds}Z`);
  return { value, type: Date, format: 'yyyy-mm-dd hh:mm' };
}

function cellOf(kind: ColumnKind, cell: Cell, timeZone: string): CellObject | null {
  if (cell === null) return null;
  if (kind === 'date') return dateOf(cell, timeZone) ?? textOf(String(cell));
  if (typeof cell === 'number' && kind !== 'text') return numberOf(kind, cell);
  return textOf(String(cell));
}

function widthsOf({ table }: ReportDocument) {
  return table.columns.map(({ name, kind }, index) => {
    const longest = table.rows.reduce((most, row) => {
      const length = String(row[index] ?? '').length;
      return Math.max(most, length);
    }, name.length);
    const grouped = isNumeric(kind) ? longest * 1.4 : longest;
    return { width: Math.min(WIDTH_MAX, Math.max(WIDTH_MIN, Math.ceil(grouped) + 2)) };
  });
}

function bodyOf({ table, manner }: ReportDocument, heat: Heat): (CellObject | null)[][] {
  return table.rows.map((row) =>
    table.columns.map(({ kind }, index) => {
      const cell = row[index] ?? null;
      const made = cellOf(kind, cell, manner.timeZone);
      return made && { ...made, ...groundOf(heat(index, cell)) };
    }),
  );
}

function totalRows({ table, manner }: ReportDocument): (CellObject | null)[][] {
  return table.totals.map((row) =>
    table.columns.map(({ kind }, index): CellObject | null => {
      const made = cellOf(kind, row[index] ?? null, manner.timeZone);
      return made && { ...made, fontWeight: 'bold', topBorderStyle: 'thin' };
    }),
  );
}

/** Bytes of the workbook: title, header, rows, totals, remarks. */
export async function workbookOf(document: ReportDocument): Promise<Buffer> {
  // Loaded when it is needed: most commands write no workbook.
  const { default: writeWorkbook } = await import('write-excel-file/node');
  const { report, table } = document;
  const title: CellObject = { ...textOf(report.title), fontWeight: 'bold', fontSize: 14 };
  const header = table.columns.map(
    ({ name, kind }): CellObject => ({
      ...textOf(name),
      fontWeight: 'bold',
      bottomBorderStyle: 'thin',
      align: isNumeric(kind) ? 'right' : 'left',
    }),
  );
  const isEmpty = table.rows.length === 0;
  const remarks = [...(isEmpty ? [report.empty ?? 'There are no rows.'] : []), ...table.notes];
  const data = [
    [title],
    [textOf(describeRun(document))],
    header,
    ...bodyOf(document, createHeat(table)),
    ...totalRows(document),
    ...remarks.map((note): CellObject[] => [{ ...textOf(note), fontStyle: 'italic' }]),
  ];
  const sheet = report.name.slice(0, SHEET_CHARS_MAX);
  const written = writeWorkbook(data, { sheet, stickyRowsCount: 3, columns: widthsOf(document) });
  return written.toBuffer();
}
