/** Decision tables: rows as a person means them and as spreadsheets write them. */
import type { Random } from '../../../src/lib/random.ts';

export type Cell = string | boolean | { readonly number: string };

interface Row {
  readonly keys: readonly string[];
  readonly value: Cell;
  /** First and last day; undefined: no end. */
  readonly from?: string | undefined;
  readonly until?: string | undefined;
}

export interface Table {
  readonly name: string;
  /** The facts that it is asked by. */
  readonly by: readonly string[];
  readonly kind: 'number' | 'text' | 'truth';
  readonly rows: readonly Row[];
}

/** The row that a person would point at: named keys before `*`, the first key counts most. */
export function cellOf(table: Table, keys: readonly string[], day: string): Cell | undefined {
  const fitting = table.rows.filter(
    (row) =>
      (row.from === undefined || row.from <= day) &&
      (row.until === undefined || day <= row.until) &&
      row.keys.every((key, at) => key === '*' || key === keys[at]),
  );
  const [best] = fitting.toSorted((a, b) => rank(a) - rank(b));
  return best?.value;
}

function rank({ keys }: Row): number {
  return keys.reduce((sum, key) => sum * 2 + (key === '*' ? 1 : 0), 0);
}

const WORDS = ['Nord', 'Süd', 'Øst', 'Å, vest', 'a "b"', 'x'] as const;

function cell(random: Random, kind: Table['kind']): Cell {
  if (kind === 'text') return random.pick(WORDS);
  if (kind === 'truth') return random.chance(0.5);
  const number = random.pick(['0', '1', '2', '3', '5', '10', '20', '2.5', '0.25', '12.0001', '-1']);
  return { number };
}

/** Days around the day of the deliveries, without two rows of a key on one day. */
function daysOf(random: Random): readonly Pick<Row, 'from' | 'until'>[] {
  const day = (of: number) => `2026-03-${String(of).padStart(2, '0')}`;
  const [end, start] = [random.int(1, 4), random.int(2, 5)];
  return random.pick([
    [{}],
    [{ until: day(end) }],
    [{ from: day(start) }],
    [{ until: day(end) }, { from: day(end + random.int(1, 2)) }],
    [{ from: day(end), until: day(end + random.int(0, 3)) }],
  ]);
}

export function randomTable(
  random: Random,
  name: string,
  by: readonly string[],
  valuesOf: (path: string) => readonly string[],
): Table {
  const kind = random.pick(['number', 'number', 'number', 'text', 'truth'] as const);
  const rows: Row[] = [];
  const seen = new Set<string>();
  const withDays = random.chance(0.5);
  for (let count = random.int(1, 6); count > 0; count -= 1) {
    const keys = by.map((path) => (random.chance(0.3) ? '*' : random.pick(valuesOf(path))));
    if (seen.has(keys.join('\n'))) continue;
    seen.add(keys.join('\n'));
    for (const days of withDays ? daysOf(random) : [{}]) {
      rows.push({ keys, ...days, value: cell(random, kind) });
    }
  }
  return { name, by, kind, rows };
}

function cellText(random: Random, value: Cell, comma: string): string {
  if (typeof value === 'boolean') return random.pick([String(value), String(value).toUpperCase()]);
  return typeof value === 'string' ? value : value.number.replace('.', comma);
}

/** 1 March may also be 01.03.2026 and 1/3/2026. */
function dayText(random: Random, day: string | undefined): string {
  if (day === undefined) return '';
  const [year = '', month = '', date = ''] = day.split('-');
  const short = (part: string) => String(Number(part));
  return random.pick([
    day,
    `${date}.${month}.${year}`,
    `${short(date)}/${short(month)}/${year}`,
    `${date}/${month}/${year}`,
  ]);
}

/** The bytes of the file, as one of the spreadsheets that there are would save it. */
export function spreadsheet(random: Random, table: Table): Buffer {
  const delimiter = random.pick([';', ',']);
  // With a comma between cells a decimal comma needs quotes, which all of them write.
  const comma = random.pick(['.', ',']);
  const quoted = (text: string) =>
    /[",;\n]/.test(text) || random.chance(0.1) ? `"${text.replaceAll('"', '""')}"` : text;
  const header = [...table.by.keys()].map((at) => random.pick([`key${at}`, `Key${at}`]));
  const lines = [
    [...header, 'value', 'from', 'until'],
    ...table.rows.map(({ keys, value, from, until }) => [
      ...keys,
      cellText(random, value, comma),
      dayText(random, from),
      dayText(random, until),
    ]),
  ];
  const text = lines.map((cells) => cells.map(quoted).join(delimiter));
  const end = random.pick(['\n', '\r\n']);
  const last = random.pick(['', end, `${end}${delimiter.repeat(header.length + 2)}${end}`]);
  const whole = `${text.join(end)}${last}`;
  if (random.chance(0.3)) return Buffer.from(whole, 'latin1');
  return Buffer.from(`${random.chance(0.3) ? '\uFEFF' : ''}${whole}`);
}
