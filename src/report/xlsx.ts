/**
 * Makes a report an Excel workbook: numbers are numbers, dates dates, and all else text, so that a
 * barcode keeps its digits and no text is taken for a formula. Title and header stay in view.
 */
import type { CellObject } from 'write-excel-file/node';
import { localClockOf } from '../lib/local-time.ts';
import { hundredth, momentOf } from './cells.ts';
import { describeRun, type ReportDocument } from './document.ts';
import { createHeat, type Heat } from './heat.ts';
import type { Cell } from './query.ts';
import type { ColumnKind } from './report-head.ts';
import { isNumeric } from './table.ts';
import { type ReadableTable, readable } from './words/readable.ts';

/** Most characters of a cell that Excel accepts. */
const CELL_CHARS_MAX = 32_767;
const SHEET_CHARS_MAX = 31;
const WIDTH_MIN = 8;
const WIDTH_MAX = 60;
/** Sum of column widths above which a page is printed in landscape. */
const PORTRAIT_WIDTH_MAX = 100;
/**
 * Font of all cells. Programs without Calibri substitute another font; bold cells need the name,
 * too, or they would get a font of their own.
 */
const FONT = { fontFamily: 'Calibri', fontSize: 11 };
const TITLE_SIZE = 14;
const TITLE_HEIGHT = 21;
/** Row height of Calibri: with another, substituted fonts would be clipped. */
const ROWS = '<sheetFormatPr defaultRowHeight="15" customHeight="1"/>';
const FIT = '<sheetPr><pageSetUpPr fitToPage="1"/></sheetPr>';
/** Rows at the top that stay in view: title, parameters, header. */
const HEAD_ROWS = 3;

const NUMBER_FORMATS: Readonly<Partial<Record<ColumnKind, string>>> = {
  amount: '#,##0.00',
  count: '#,##0',
  percent: '0.0%',
};

/**
 * Background colors of `heat` from weak to strong, for numbers above zero; COLD: below. Black text
 * is readable on each.
 */
const WARM = ['#e8f1fb', '#c9dff5', '#9fc6ec', '#74abe0'];
const COLD = ['#fdeaea', '#fbd0d2', '#f5a9ad', '#ee8389'];

function groundOf(level: number): { readonly backgroundColor?: string } {
  const backgroundColor = (level < 0 ? COLD : WARM)[Math.abs(level) - 1];
  return backgroundColor === undefined ? {} : { backgroundColor };
}

/** Line breaks of all kinds, and control characters, which XML cannot hold: words stay apart. */
const BREAK = /\r\n?|[\v\f\u0085\u2028\u2029]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that must not stay.
const CONTROL = /[\u0000-\u0008\u000e-\u001f]/g;
/** Spreadsheets read `_x0041_` as the letter A unless its first sign is written so itself. */
const ESCAPE = /_(?=x[0-9A-Fa-f]{4}_)/g;

/** Lines of a cell that a row is made high enough for. */
const LINES_MAX = 10;
const LINE_HEIGHT = 15;

function textOf(value: string): CellObject {
  const fits = value.length <= CELL_CHARS_MAX;
  const shown = fits ? value : `${value.slice(0, CELL_CHARS_MAX - 1)}…`;
  const text = shown.replace(BREAK, '\n').replace(CONTROL, ' ');
  const lines = Math.min(LINES_MAX, text.split('\n').length);
  return {
    value: text.replace(ESCAPE, '_x005F_'),
    type: String,
    format: '@',
    // Without it a line break is shown as nothing at all.
    ...(lines > 1 && { wrap: true, height: lines * LINE_HEIGHT }),
  };
}

function numberOf(kind: ColumnKind, value: number): CellObject {
  if (kind === 'percent') return { value: hundredth(value), type: Number, format: '0.0%' };
  const whole = Number.isInteger(value) ? { format: '0' } : {};
  const format = NUMBER_FORMATS[kind];
  return { value, type: Number, ...(format === undefined ? whole : { format }) };
}

/** Spreadsheets number days from 1900 on, and take that year for a leap year. */
const FIRST_DAY = Date.UTC(1900, 2, 1);

/** Date cell in local time, because a cell has no time zone. */
function dateOf(cell: Cell, timeZone: string): CellObject | undefined {
  const moment = momentOf(cell);
  if (!moment || moment.at < FIRST_DAY) return undefined;
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

/** A report with its table in words. */
interface Readable extends ReportDocument {
  readonly table: ReadableTable;
}

function widthsOf({ table }: Readable) {
  return table.columns.map(({ heading, kind }, index) => {
    const longest = table.rows.reduce((most, row) => {
      const length = String(row[index] ?? '').length;
      return Math.max(most, length);
    }, heading.length);
    const grouped = isNumeric(kind) ? longest * 1.4 : longest;
    return { width: Math.min(WIDTH_MAX, Math.max(WIDTH_MIN, Math.ceil(grouped) + 2)) };
  });
}

/** Left indent for text to the right of numbers, which it would touch otherwise. */
function apart({ table }: ReportDocument, index: number): Partial<CellObject> {
  const [left, own] = [table.columns[index - 1], table.columns[index]];
  const isApart = left && own && isNumeric(left.kind) && !isNumeric(own.kind);
  return isApart ? { align: 'left', indent: 1 } : {};
}

function bodyOf(document: ReportDocument, heat: Heat): (CellObject | null)[][] {
  const { table, manner } = document;
  return table.rows.map((row, at) =>
    table.columns.map(({ kind }, index) => {
      const cell = row[index] ?? null;
      const made = cellOf(kind, cell, manner.timeZone);
      return made && { ...made, ...groundOf(heat(index, cell, at)), ...apart(document, index) };
    }),
  );
}

/** Rows of totals in bold; a line above the first goes across all columns. */
function totalRows(document: ReportDocument): (CellObject | null)[][] {
  const { table, manner } = document;
  return table.totals.map((row, at) =>
    table.columns.map(({ kind }, index): CellObject | null => {
      const line: Partial<CellObject> = at === 0 ? { topBorderStyle: 'thin' } : {};
      const made = cellOf(kind, row[index] ?? null, manner.timeZone);
      if (!made) return at === 0 ? line : null;
      return { ...made, ...line, fontWeight: 'bold', ...apart(document, index) };
    }),
  );
}

/**
 * Print settings: all columns on the width of a page, with the header on each page. The library has
 * no option for that, but lets its XML be completed.
 */
function printSettings(sheet: string, isWide: boolean) {
  const orientation = isWide ? 'landscape' : 'portrait';
  const setup = `<pageSetup paperSize="9" orientation="${orientation}" fitToHeight="0"/>`;
  const header = `'${sheet}'!$${HEAD_ROWS}:$${HEAD_ROWS}`;
  const titles = `<definedName name="_xlnm.Print_Titles" localSheetId="0">${header}</definedName>`;
  return {
    files: {
      transform: {
        'xl/worksheets/sheet{id}.xml': {
          insert: () => setup,
          transform: (xml: string) =>
            xml
              .replace('<sheetViews>', `${FIT}<sheetViews>`)
              .replace('</sheetViews>', `</sheetViews>${ROWS}`),
        },
        'xl/workbook.xml': {
          transform: (xml: string) =>
            xml.replace('<definedNames/>', `<definedNames>${titles}</definedNames>`),
        },
      },
    },
  };
}

/** Bytes of the workbook: title, parameters, header, rows, totals, remarks. */
export async function workbookOf(made: ReportDocument): Promise<Buffer> {
  // Loads the library only when it is needed: most commands write no workbook.
  const { default: writeWorkbook } = await import('write-excel-file/node');
  const document = { ...made, table: readable(made) };
  const { report, table } = document;
  const title: CellObject = {
    ...textOf(report.title),
    fontWeight: 'bold',
    fontSize: TITLE_SIZE,
    height: TITLE_HEIGHT,
  };
  const header = table.columns.map(
    ({ heading, kind }, index): CellObject => ({
      ...textOf(heading),
      fontWeight: 'bold',
      bottomBorderStyle: 'thin',
      align: isNumeric(kind) ? 'right' : 'left',
      ...apart(document, index),
    }),
  );
  const isEmpty = table.rows.length === 0;
  const remarks = [...(isEmpty ? [report.empty ?? 'There are no rows.'] : []), ...table.notes];
  const data = [
    [title],
    [textOf([table.caption, describeRun(document)].filter((part) => part).join(' · '))],
    header,
    ...bodyOf(document, createHeat(table)),
    ...totalRows(document),
    ...remarks.map((note): CellObject[] => [{ ...textOf(note), fontStyle: 'italic' }]),
  ];
  const sheet = report.name.slice(0, SHEET_CHARS_MAX);
  const columns = widthsOf(document);
  const isWide = columns.reduce((sum, { width }) => sum + width, 0) > PORTRAIT_WIDTH_MAX;
  const options = { ...FONT, features: [printSettings(sheet, isWide)] };
  const written = writeWorkbook(data, { sheet, stickyRowsCount: HEAD_ROWS, columns }, options);
  return written.toBuffer();
}
