/** Schema of the comment in front of a report: title, parameters, and how its rows are shown. */
import { z } from 'zod';
import { CHART_KINDS } from '../lib/chart/data.ts';

/** Lists of the mirror from which a form offers values (words/offers.ts reads them). */
export const OFFERS = ['brands', 'customers', 'entities', 'seasons', 'styles', 'windows'] as const;
export type Offer = (typeof OFFERS)[number];

/** Parameter of a report: `text`, whole `number`, or `time` (ISO 8601, or `28d` ago). */
const parameterSchema = z
  .strictObject({
    type: z.enum(['text', 'number', 'time']),
    about: z.string().min(1),
    /** A time counts from the begin of its day or week, where the house is. */
    from: z.enum(['day', 'week']).optional(),
    /** Word for it in forms and below titles; without it its name. */
    label: z.string().min(1).optional(),
    /** List of the mirror that its form offers; any other value may be typed. */
    offers: z.enum(OFFERS).optional(),
    /** Texts that the parameter accepts; all others are refused. */
    choices: z.array(z.string().min(1)).min(2).optional(),
    default: z.union([z.string(), z.number()]).transform(String).optional(),
  })
  .refine(({ type, choices }) => choices === undefined || type === 'text', {
    path: ['choices'],
    error: 'goes with a text only',
  })
  .refine(({ type, from }) => from === undefined || type === 'time', {
    path: ['from'],
    error: 'goes with a time only',
  })
  .refine(({ choices, default: preset }) => preset === undefined || isChoice(choices, preset), {
    path: ['default'],
    error: 'is none of the choices',
  });

export function isChoice(choices: readonly string[] | undefined, text: string): boolean {
  return choices === undefined || choices.includes(text);
}

/**
 * Kinds of columns: `amount` has two decimals, `count` is whole, `percent` is 12.5 for 12.5 %,
 * `heat` is a number whose background is darker the larger it is.
 */
export const COLUMN_KINDS = [
  'amount',
  'count',
  'percent',
  'number',
  'heat',
  'date',
  'text',
] as const;
export type ColumnKind = (typeof COLUMN_KINDS)[number];

const column = z.string().min(1);
const columns = z
  .array(column)
  .min(1)
  .refine((names) => new Set(names).size === names.length, { error: 'names a column twice' });

const pivotSchema = z
  .strictObject({
    /** Columns whose values together make one row of the pivot. */
    rows: columns,
    /** Column whose values become the columns of the pivot. */
    column,
    /** Column whose values fill the cells; several values of one cell are summed. */
    value: column,
    /** Column by which the new columns are sorted, such as the rank of a size. */
    order: column.optional(),
    /** Value of a column, the only one whose rows have a ground by `heat`. */
    shade: z.strictObject({ column, value: z.string() }).optional(),
  })
  .refine(({ rows, column: across, value }) => !rows.includes(across) && !rows.includes(value), {
    path: ['rows'],
    error: 'has the column or the value of the pivot',
  });

const chartSchema = z
  .strictObject({
    kind: z.enum(CHART_KINDS),
    /** Title of the chart; without it that of the report. */
    title: z.string().min(1).optional(),
    /** Columns whose values together make one place of the x axis. */
    x: z.union([column, columns]),
    /** Column whose text is shown in place of the series, else of x: a name for a number. */
    label: column.optional(),
    y: z.union([column, columns]),
    series: column.optional(),
    /** Most places of the x axis: those with the highest, or the lowest, values. */
    highest: z.int().min(1).optional(),
    lowest: z.int().min(1).optional(),
  })
  .refine(({ y, series }) => series === undefined || typeof y === 'string', {
    path: ['series'],
    error: 'goes with a single y only',
  })
  .refine(({ highest, lowest }) => highest === undefined || lowest === undefined, {
    path: ['lowest'],
    error: 'goes without highest only',
  });

export const headSchema = z
  .strictObject({
    title: z.string().min(1),
    about: z.string().min(1).optional(),
    params: z.record(z.string().regex(/^[a-z][a-z0-9_]*$/), parameterSchema).default({}),
    pivot: pivotSchema.optional(),
    totals: columns.optional(),
    /** Columns that people read as one, and once for all rows below each other that agree in it. */
    groups: columns.optional(),
    /** Columns that people read above the table where all rows agree in them. */
    above: columns.optional(),
    chart: chartSchema.optional(),
    formats: z.record(column, z.enum(COLUMN_KINDS)).default({}),
    /** Headings of columns; without one that of the dictionary (words/columns.ts), or the name. */
    columns: z.record(column, z.string().min(1)).default({}),
    /** Percents of the totals: each the first sum of two, in percent of the second. */
    rates: z.record(column, z.tuple([column, column])).default({}),
    empty: z.string().min(1).optional(),
  })
  .superRefine(({ pivot, totals = [], formats, rates }, ctx) => {
    for (const [name, parts] of Object.entries(rates)) {
      const lost = parts.find((part) => !totals.includes(part));
      const message = `${lost} is none of the totals`;
      if (lost !== undefined) ctx.addIssue({ code: 'custom', path: ['rates', name], message });
    }
    const wrong = (index: number, message: string): void =>
      ctx.addIssue({ code: 'custom', path: ['totals', index], message });
    for (const [index, name] of totals.entries()) {
      const kind = formats[name] ?? 'number';
      if (kind === 'percent' || kind === 'text' || kind === 'date') {
        wrong(index, `${name} is a ${kind}, which makes no sum`);
      } else if (pivot && name !== pivot.value) {
        wrong(index, `only the value of the pivot (${pivot.value}) makes a sum`);
      }
    }
  });

export type Parameter = z.output<typeof parameterSchema>;
export type ReportHead = z.output<typeof headSchema>;
