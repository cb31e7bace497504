/** `selvedge stock`: shows the stock of a barcode or a style, now, at a time, or through time. */
import { Command, Option } from 'commander';
import { systemClock } from '../lib/clock.ts';
import { UsageError } from '../lib/errors.ts';
import { decimalOf, formatAmount } from '../lib/money.ts';
import { parseTime } from '../lib/units.ts';
import { changedColumns, stockWords } from '../mirror/point-in-time.ts';
import {
  readStockVariants,
  requireStockKnown,
  type StockVariant,
  stockStateAt,
} from '../mirror/stock-past.ts';
import type { SqlRow, SqlValue } from '../store/bulk.ts';
import { type CliContext, examples } from './command.ts';
import type { Output } from './output.ts';
import { withMirror } from './reading.ts';

interface Options {
  readonly asOf?: string;
  readonly history?: boolean;
  readonly json?: boolean;
}

function timeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const at = parseTime(text);
  if (at !== undefined) return at;
  throw new UsageError('stock.bad_time', `${text} is no time`, {
    hint: 'write it as 2026-03-31 or 2026-03-31T18:00:00Z (UTC unless it says otherwise)',
  });
}

/** Columns of the mirror that are in ten-thousandths. */
const MONEY = new Set([
  ...['price', 'wsp_price', 'price_original', 'b2c_sale_price', 'net_price'],
  ...['price_before_discount', 'discount_percent'],
]);

/** Converts a value to a decimal number if its column is in ten-thousandths. */
function plain(column: string, value: SqlValue): SqlValue {
  return MONEY.has(column) && typeof value === 'number' ? decimalOf(value) : value;
}

function plainRow(row: SqlRow | undefined): SqlRow | null {
  if (!row) return null;
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(name, value)]));
}

function shown(column: string, value: SqlValue | undefined, { currency }: SqlRow): string {
  if (value === null || value === undefined) return '-';
  if (!MONEY.has(column) || typeof value !== 'number') return String(value);
  return formatAmount(value, typeof currency === 'string' ? currency : null);
}

const COLUMNS = ['barcode', 'style_no', 'color_name', 'size', 'quantity', 'price', 'wsp_price'];

function printStates(
  output: Output,
  variants: readonly StockVariant[],
  at: number | undefined,
): void {
  output.table(
    COLUMNS.map((column) => column.toUpperCase()),
    variants.map((variant) => {
      const state = stockStateAt(variant, at);
      const { barcode = null, style_no = null } = variant.row;
      const values: SqlRow = state ?? { barcode, style_no, quantity: 0 };
      return COLUMNS.map((column) => shown(column, values[column], variant.row));
    }),
  );
}

function historyOf({ row, changes }: StockVariant) {
  const words = stockWords(row, changes);
  return changes.map((change, index) => ({
    at: new Date(change.at).toISOString(),
    barcode: String(row.barcode),
    what: words[index] ?? '',
    row,
    changed: changedColumns(change).filter(({ column }) => column !== 'extra'),
  }));
}

/** Changes of a variant as JSON for programs. */
function historyJson(variant: StockVariant) {
  return historyOf(variant).map(({ row: _own, changed, ...entry }) => ({
    ...entry,
    changed: changed.map(({ column, before, after }) => ({
      column,
      before: plain(column, before),
      after: plain(column, after),
    })),
  }));
}

function printHistory(output: Output, variants: readonly StockVariant[]): void {
  output.table(
    ['TIME (UTC)', 'BARCODE', 'WHAT', 'FROM → TO'],
    variants.flatMap(historyOf).map(({ at, barcode, what, row, changed }) => [
      at.slice(0, 19).replace('T', ' '),
      barcode,
      what,
      changed
        .map((one) => {
          const { column, before, after } = one;
          return `${column} ${shown(column, before, row)} → ${shown(column, after, row)}`;
        })
        .join(', '),
    ]),
  );
}

export function stock(context: CliContext): Command {
  return new Command('stock')
    .summary('show the stock of a barcode or a style, also in the past')
    .description(
      'Reads the mirror: what is in stock, what was at a time of the past (--as-of), or every\n' +
        'change with its time, sold out and back in stock included (--history).',
    )
    .argument('<barcode|style>', 'a barcode, or the number of a style')
    .option('--as-of <time>', 'as it was then, for example 2026-03-31T18:00:00Z')
    .addOption(new Option('--history', 'every change').conflicts(['asOf']))
    .option('--json', 'as JSON; prices as decimal numbers')
    .addHelpText(
      'after',
      examples([
        ['stock 100017', 'every color and size of a style'],
        ['stock 5702675000006 --history', 'when it was sold out, and back'],
      ]),
    )
    .action(async (wanted: string, options: Options, command: Command) => {
      const at = timeOf(options.asOf);
      const { output } = context;
      const variants = await withMirror(command, context, async (db) => {
        if (at !== undefined) await requireStockKnown(db, at, systemClock().now());
        return readStockVariants(db, wanted, at);
      });
      if (options.history === true) {
        if (options.json === true) output.json(variants.flatMap(historyJson));
        else printHistory(output, variants);
        return;
      }
      if (options.json !== true) {
        printStates(output, variants, at);
        return;
      }
      const states = variants.map((variant) => ({
        barcode: variant.row.barcode,
        state: plainRow(stockStateAt(variant, at)),
      }));
      output.json(states);
    });
}
