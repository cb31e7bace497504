/** `selvedge stock`: the stock of a barcode or a style, now, at some time, or through time. */
import { Command, Option } from 'commander';
import { systemClock } from '../lib/clock.ts';
import { RefusedError, UsageError } from '../lib/errors.ts';
import { decimalOf, formatAmount } from '../lib/money.ts';
import { parseTime } from '../lib/units.ts';
import {
  changedColumns,
  leftStyleSince,
  type RowChange,
  rowAsOf,
  stockKnownSince,
  stockWords,
} from '../mirror/point-in-time.ts';
import { type SqlRow, type SqlValue, selectByKeys } from '../store/bulk.ts';
import type { Db } from '../store/store.ts';
import { type CliContext, examples } from './command.ts';
import type { Output } from './output.ts';
import { withMirror } from './reading.ts';

interface Options {
  readonly asOf?: string;
  readonly history?: boolean;
  readonly json?: boolean;
}

interface Variant {
  readonly row: SqlRow;
  readonly changes: readonly RowChange[];
}

function stateAt({ row, changes }: Variant, at: number | undefined): SqlRow | undefined {
  if (at !== undefined) return rowAsOf(row, changes, at);
  return row.deleted_at === null ? row : undefined;
}

/** Rows of the style, also those that were of it at the time `at` and are of another one now. */
async function rowsOfStyle(
  db: Db,
  style: string,
  at: number | undefined,
): Promise<readonly SqlRow[]> {
  const rows = await selectByKeys(db, 'stock_variant', 'style_no', [style], 'barcode');
  if (at === undefined) return rows;
  const known = new Set(rows.map((row) => row.barcode));
  const keys = (await leftStyleSince(db, style, at)).filter((key) => !known.has(key));
  return [...rows, ...(await selectByKeys(db, 'stock_variant', 'barcode', keys, 'barcode'))];
}

/** A barcode is one row; anything else is taken as a style. */
async function readVariants(db: Db, wanted: string, at: number | undefined): Promise<Variant[]> {
  const byBarcode = await selectByKeys(db, 'stock_variant', 'barcode', [wanted]);
  const rows = byBarcode.length > 0 ? byBarcode : await rowsOfStyle(db, wanted, at);
  if (rows.length === 0) {
    throw new RefusedError('stock.unknown', `no barcode and no style ${wanted} is known`, {
      hint: 'selvedge sync list tells whether the stock was read',
    });
  }
  const found: Variant[] = [];
  for (const row of rows) {
    const changes = await db
      .selectFrom('change')
      .select(['at', 'op', 'diff'])
      .where('entity', '=', 'stock_variant')
      .where('key', '=', String(row.barcode))
      .orderBy('seq')
      .execute();
    found.push({ row, changes });
  }
  if (byBarcode.length > 0) return found;
  return found.filter((one) => (stateAt(one, at) ?? one.row).style_no === wanted);
}

/**
 * Before the first change that is kept, no stock and nothing known would look the same; and of a
 * time to come nobody knows anything.
 */
async function requireKnown(db: Db, at: number): Promise<void> {
  if (at > systemClock().now()) {
    throw new RefusedError('stock.too_late', 'nobody knows the stock of a time to come', {
      hint: 'without --as-of it is the stock of now',
    });
  }
  const first = await stockKnownSince(db);
  if (first === undefined || at >= first) return;
  const since = new Date(first).toISOString();
  throw new RefusedError('stock.too_early', `nothing is known of the stock before ${since}`, {
    hint: 'name a later time',
  });
}

function timeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const at = parseTime(text);
  if (at !== undefined) return at;
  throw new UsageError('stock.bad_time', `${text} is no time`, {
    hint: 'write it as 2026-03-31 or 2026-03-31T18:00:00Z (UTC unless it says otherwise)',
  });
}

/** Ten-thousandths in the mirror. */
const MONEY = new Set([
  ...['price', 'wsp_price', 'price_original', 'b2c_sale_price', 'net_price'],
  ...['price_before_discount', 'discount_percent'],
]);

/** With decimals where it is an amount. */
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

function printStates(output: Output, variants: readonly Variant[], at: number | undefined): void {
  output.table(
    COLUMNS.map((column) => column.toUpperCase()),
    variants.map((variant) => {
      const state = stateAt(variant, at);
      const { barcode = null, style_no = null } = variant.row;
      const values: SqlRow = state ?? { barcode, style_no, quantity: 0 };
      return COLUMNS.map((column) => shown(column, values[column], variant.row));
    }),
  );
}

function historyOf({ row, changes }: Variant) {
  const words = stockWords(row, changes);
  return changes.map((change, index) => ({
    at: new Date(change.at).toISOString(),
    barcode: String(row.barcode),
    what: words[index] ?? '',
    row,
    changed: changedColumns(change).filter(({ column }) => column !== 'extra'),
  }));
}

/** For programs. */
function historyJson(variant: Variant) {
  return historyOf(variant).map(({ row: _own, changed, ...entry }) => ({
    ...entry,
    changed: changed.map(({ column, before, after }) => ({
      column,
      before: plain(column, before),
      after: plain(column, after),
    })),
  }));
}

function printHistory(output: Output, variants: readonly Variant[]): void {
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
        if (at !== undefined) await requireKnown(db, at);
        return readVariants(db, wanted, at);
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
        state: plainRow(stateAt(variant, at)),
      }));
      output.json(states);
    });
}
