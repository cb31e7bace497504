/** Formats the cells of a report as text: numbers and dates as a locale writes them. */

import { UsageError } from '../lib/errors.ts';
import { knownLocale } from '../lib/strings.ts';
import type { Cell } from './query.ts';
import type { ColumnKind } from './report-head.ts';

/** Locale of numbers when none is given; dates are ISO 8601 then. */
export const LOCALE = 'en-GB';

export interface Manner {
  /** Locale such as `de-DE`; undefined: none was given. */
  readonly locale: string | undefined;
  /** Time zone in which times are shown. */
  readonly timeZone: string;
}

/** Canonical form of a locale; throws UsageError for a text that is no known locale. */
export function requireLocale(text: string): string {
  const found = knownLocale(text);
  if (found !== undefined) return found;
  throw new UsageError('report.bad_locale', `${text} is no locale that is known here`, {
    hint: 'write a language and a country, such as de-DE or en-GB',
  });
}

const TWO = { minimumFractionDigits: 2, maximumFractionDigits: 2 } as const;

/** Number format of each kind of column; ids and the like are never grouped. */
const NUMBERS: Readonly<Partial<Record<ColumnKind, Intl.NumberFormatOptions>>> = {
  amount: TWO,
  count: { maximumFractionDigits: 0 },
  percent: { style: 'percent', minimumFractionDigits: 1, maximumFractionDigits: 1 },
  number: { useGrouping: false, maximumFractionDigits: 10 },
  heat: { maximumFractionDigits: 4 },
};

const DAY = { year: 'numeric', month: '2-digit', day: '2-digit' } as const;
const MOMENT = { ...DAY, hour: '2-digit', minute: '2-digit' } as const;

/** Epoch ms of a date or a point in time as SQL writes them; undefined: the cell is neither. */
export function momentOf(cell: Cell): { readonly at: number; readonly isDay: boolean } | undefined {
  if (typeof cell !== 'string') return undefined;
  const isDay = /^\d{4}-\d\d-\d\d$/.test(cell);
  if (!isDay && !/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(cell)) return undefined;
  const at = Date.parse(cell);
  return Number.isNaN(at) ? undefined : { at, isDay };
}

/** The hundredth of a number as its decimals say: a division by 100 makes others of them. */
export function hundredth(value: number): number {
  const [digits, exponent = '0'] = String(value).split('e');
  return Number(`${digits}e${Number(exponent) - 2}`);
}

export type CellFormat = (kind: ColumnKind, cell: Cell) => string;

/** Creates the function that formats cells for people; a null cell becomes the text `nothing`. */
export function createCellFormat({ locale, timeZone }: Manner, nothing = ''): CellFormat {
  const numbers = new Map<ColumnKind, Intl.NumberFormat>();
  const numberFormat = (kind: ColumnKind): Intl.NumberFormat => {
    const known = numbers.get(kind) ?? new Intl.NumberFormat(locale ?? LOCALE, NUMBERS[kind]);
    numbers.set(kind, known);
    return known;
  };
  const day = new Intl.DateTimeFormat(locale ?? LOCALE, { ...DAY, timeZone: 'UTC' });
  // Without a locale as ISO 8601 writes it, which the Swedish one does.
  const moment = new Intl.DateTimeFormat(locale ?? 'sv-SE', { ...MOMENT, timeZone });
  return (kind, cell) => {
    if (cell === null) return nothing;
    if (kind === 'date') {
      const found = momentOf(cell);
      if (!found || (found.isDay && locale === undefined)) return String(cell);
      return (found.isDay ? day : moment).format(found.at);
    }
    if (typeof cell !== 'number' || kind === 'text') return String(cell);
    return numberFormat(kind).format(kind === 'percent' ? hundredth(cell) : cell);
  };
}

/** As on the page: half away from zero, from the decimals as they are written. */
const AMOUNT = new Intl.NumberFormat('en', { ...TWO, useGrouping: false });

/** Formats a number for CSV: no groups, the locale's decimal sign, amounts with two decimals. */
export function csvNumber(kind: ColumnKind | undefined, value: number, comma: boolean): string {
  const text = kind === 'amount' ? AMOUNT.format(value) : String(value);
  return comma ? text.replace('.', ',') : text;
}
