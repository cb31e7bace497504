/** `selvedge stock`: finds styles, and shows the stock of one or of a barcode, also in the past. */
import { Command, Option } from 'commander';
import { parseTime } from '../lib/units.ts';
import { history } from '../mirror/stock/history.ts';
import { variants } from '../mirror/stock/style.ts';
import { styles } from '../mirror/stock/styles.ts';
import { orders, seasons } from '../mirror/stock/wanted.ts';
import { toWire } from '../surface/forms.ts';
import { invalid } from '../surface/given.ts';
import { type CliContext, examples } from './command.ts';
import { allowOverUrl } from './remote/over-url.ts';
import { placeOptions, printRows, readRows, showRows } from './surface-lists.ts';

interface Options {
  readonly find?: string;
  readonly asOf?: string;
  readonly history?: boolean;
  readonly orders?: boolean;
  readonly seasons?: boolean;
  readonly json?: boolean;
  readonly limit: number;
}

/** The time as every console reads it, which takes one without a zone as local. */
function timeOf(text: string): string {
  const at = parseTime(text);
  if (at !== undefined) return new Date(at).toISOString();
  const hint = 'write it as 2026-03-31 or 2026-03-31T18:00:00Z (UTC unless it says otherwise)';
  throw invalid(`asOf: ${text} is no point in time`, hint);
}

/** Shows every change, the oldest first, as scripts of the first release expect it. */
async function showHistory(command: Command, context: CliContext, style: string): Promise<void> {
  const { json, limit } = command.opts<Options>();
  const found = await readRows(command, context, history, { style, limit });
  const rows = found.rows.toReversed();
  if (json === true) context.output.json(rows.map((row) => toWire(history.row, row)));
  else printRows(command, context.output, history, { ...found, rows });
}

async function show(
  command: Command,
  context: CliContext,
  style: string | undefined,
): Promise<void> {
  const { find: q, asOf, ...options } = command.opts<Options>();
  const hint = 'a barcode or a style has its stock; --find <text> lists styles';
  if (style === undefined) {
    const isOfOne = options.history ?? options.orders ?? options.seasons ?? asOf;
    if (isOfOne !== undefined) throw invalid('style: it is missing', hint);
    return showRows(command, context, styles, q === undefined ? {} : { q });
  }
  if (q !== undefined) throw invalid(`find: ${style} is named already`, hint);
  if (options.history === true) return showHistory(command, context, style);
  if (options.orders === true) return showRows(command, context, orders, { style });
  if (options.seasons === true) return showRows(command, context, seasons, { style });
  const then = asOf === undefined ? {} : { asOf: timeOf(asOf) };
  return showRows(command, context, variants, { style, ...then, exact: '1', unlisted: '1' });
}

export function stock(context: CliContext): Command {
  const ways = ['history', 'orders', 'seasons', 'asOf', 'find'];
  const way = (flags: string, about: string) => {
    const option = new Option(flags, about);
    return option.conflicts(ways.filter((one) => one !== option.attributeName()));
  };
  const command = new Command('stock')
    .summary('show the stock of a barcode or a style, also in the past')
    .description(
      'Reads the mirror: what is in stock, what was at a time of the past (--as-of), or every\n' +
        'change with its time, sold out and back in stock included (--history). Prices are\n' +
        'decimal numbers. Without a barcode or style it lists the styles.',
    )
    .argument('[barcode|style]', 'a barcode, or the number of a style')
    .addOption(way('--find <text>', 'styles with this in number, name or brand'))
    .addOption(way('--history', 'every change'))
    .addOption(way('--orders', 'lines of open orders that still want some of it'))
    .addOption(way('--seasons', 'what can be ordered ahead'))
    .addOption(way('--as-of <time>', 'as it was then, for example 2026-03-31T18:00:00Z'));
  return allowOverUrl(
    placeOptions(variants, command)
      .addHelpText(
        'after',
        examples([
          ['stock --find oxford', 'which styles there are'],
          ['stock 100017', 'every color and size of a style'],
          ['stock 5702675000006 --history', 'when it was sold out, and back'],
        ]),
      )
      .action((wanted: string | undefined) => show(command, context, wanted)),
  );
}
