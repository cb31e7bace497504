/** Programs of others that read a workbook: each gives its cells as texts that say their kind. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Rows of cells: `n 1.5`, `s text`, `d 2026-01-05T00:00:00`, or null. */
type Cells = readonly (readonly (string | null)[])[];

export interface Read {
  readonly cells: Cells;
  /** Rows that are printed on each page, `3:3`. */
  readonly titles: string;
}

const PACKAGES = ['exceljs@4.4.0', 'xlsx@0.18.5'];

/** A cell that holds nothing is no cell; those at the end of a row leave no trace. */
const COMMON = `
const show = (value) => {
  if (value === null || value === undefined || value === '') return null;
  if (value instanceof Date) {
    return 'd ' + new Date(Math.round(value.getTime() / 1000) * 1000).toISOString().slice(0, 19);
  }
  return typeof value === 'number' ? 'n ' + value : 's ' + value;
};
const tell = async (read) => {
  const found = {};
  for (const path of process.argv.slice(1)) found[path] = await read(path);
  console.log(JSON.stringify(found));
};`;

const EXCELJS = `${COMMON}
const { Workbook } = require('exceljs');
tell(async (path) => {
  const book = new Workbook();
  await book.xlsx.readFile(path);
  const [sheet] = book.worksheets;
  const cells = [];
  sheet.eachRow({ includeEmpty: true }, (row) => {
    cells.push(Array.from({ length: row.cellCount }, (_, at) => show(row.getCell(at + 1).value)));
  });
  return { cells, titles: sheet.pageSetup.printTitlesRow };
});`;

const SHEETJS = `${COMMON}
const XLSX = require('xlsx');
tell((path) => {
  const book = XLSX.readFile(path, { cellDates: true, cellNF: true, UTC: true });
  const sheet = book.Sheets[book.SheetNames[0]];
  const { e } = XLSX.utils.decode_range(sheet['!ref']);
  const dateOf = (cell) => XLSX.SSF.parse_date_code(cell.v);
  const raw = XLSX.readFile(path, { cellNF: true }).Sheets[book.SheetNames[0]];
  const cells = [];
  for (let row = 0; row <= e.r; row += 1) {
    const line = [];
    for (let column = 0; column <= e.c; column += 1) {
      const cell = raw[XLSX.utils.encode_cell({ r: row, c: column })];
      if (cell && cell.t === 'n' && XLSX.SSF.is_date(cell.z ?? 'General')) {
        const { y, m, d, H, M, S } = dateOf(cell);
        line.push(show(new Date(Date.UTC(y, m - 1, d, H, M, S))));
      } else line.push(show(cell && cell.v));
    }
    cells.push(line);
  }
  const [title] = book.Workbook.Names.filter(({ Name }) => Name === '_xlnm.Print_Titles');
  return { cells, titles: title.Ref.replace(/^.*!/, '').replaceAll('$', '') };
});`;

const OPENPYXL = `
import datetime, json, sys
import openpyxl
def show(value):
    if value is None or value == '': return None
    if isinstance(value, datetime.datetime):
        value += datetime.timedelta(microseconds=500000)
        return 'd ' + value.strftime('%Y-%m-%dT%H:%M:%S')
    if isinstance(value, (int, float)): return 'n ' + json.dumps(value)
    return 's ' + value
found = {}
for path in sys.argv[1:]:
    sheet = openpyxl.load_workbook(path).worksheets[0]
    cells = [[show(cell.value) for cell in row] for row in sheet.iter_rows()]
    found[path] = {'cells': cells, 'titles': sheet.print_title_rows.replace('$', '')}
print(json.dumps(found))`;

/** Without cells at the end of a row that hold nothing; numbers are as JavaScript writes them. */
function plain({ cells, titles }: Read): Read {
  const rows = cells.map((row) => {
    const last = row.findLastIndex((cell) => cell !== null);
    return row
      .slice(0, last + 1)
      .map((cell) => (cell?.startsWith('n ') ? `n ${Number(cell.slice(2))}` : cell));
  });
  return { cells: rows, titles };
}

function told(text: string): ReadonlyMap<string, Read> {
  const found: Record<string, Read> = JSON.parse(text);
  return new Map(Object.entries(found).map(([path, read]) => [path, plain(read)]));
}

/** The same workbooks, read by exceljs, SheetJS and openpyxl. */
export function readByAll(folder: string, paths: readonly string[]) {
  const options = { encoding: 'utf8', cwd: folder, maxBuffer: 1e9 } as const;
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const quiet = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
  execFileSync('npm', ['install', ...quiet, ...PACKAGES], { ...options, stdio: 'pipe' });
  const byNode = (script: string) =>
    told(execFileSync(process.execPath, ['-e', script, '--', ...paths], options));
  return new Map([
    ['exceljs', byNode(EXCELJS)],
    ['SheetJS', byNode(SHEETJS)],
    ['openpyxl', told(execFileSync('/usr/bin/python3', ['-c', OPENPYXL, ...paths], options))],
  ]);
}
