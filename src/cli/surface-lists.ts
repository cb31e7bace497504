/** Commands made from declared lists: `selvedge <noun> <list>` with the filters of the page. */
import { Command, Option } from 'commander';
import { z } from 'zod';
import { streamsNotAtLevel } from '../config/level.ts';
import { pulledStreams } from '../config/streams.ts';
import { listPath } from '../console/surface/addresses.ts';
import { systemClock } from '../lib/clock.ts';
import { csvLine } from '../lib/csv.ts';
import type { RuleSet } from '../rules/rule.ts';
import { type Db, storeOptions } from '../store/store.ts';
import { csvTable, fromWire, textCell } from '../surface/forms.ts';
import type { Given } from '../surface/given.ts';
import type { List, Shown } from '../surface/lists.ts';
import type { Reading } from '../surface/reading.ts';
import type { Suggestion } from '../surface/suggestion.ts';
import { wholeNumber } from './arguments.ts';
import { type CliContext, examples, userName } from './command.ts';
import type { Output } from './output.ts';
import { withMirror } from './reading.ts';
import { remoteConsoleOf } from './remote/console.ts';
import { allowOverUrl } from './remote/over-url.ts';
import { wordOf } from './surface-commands.ts';
import { memberArgument, memberOption } from './surface-options.ts';
import { markThing } from './things.ts';

/** Options for the order of rows, which are no members of the query. */
const ORDER = ['sort', 'descending'];

/** Most rows of a command, which keeps nobody else waiting. */
const ROWS_MAX = 100_000;

interface Options {
  readonly json?: boolean;
  readonly csv?: boolean;
  readonly limit: number;
}

export interface Found {
  readonly rows: readonly Given[];
  readonly hasMore: boolean;
  readonly notes: readonly string[];
  /** Further members of the JSON answer, where the command shows these. */
  readonly beside?: object;
}

const record = z.record(z.string(), z.unknown());

/** Rows with the place at which the next ones begin; null: there are no more. */
interface FoundPage extends Found {
  readonly next: string | null;
}

/** Parameters of an address. */
export function textsOf(given: Given): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String(value)]));
}

/** Rows of a console over a URL, with times as this program has them. */
async function readRemote(
  remote: NonNullable<ReturnType<typeof remoteConsoleOf>>,
  of: List,
  given: Given,
): Promise<FoundPage> {
  const answer = z.looseObject({
    [of.rowsAs]: z.array(record),
    next: z.string().nullable(),
    notes: z.array(z.string()).optional(),
  });
  const named = Object.entries(given).filter(([name]) => !of.args.includes(name));
  const query = textsOf(Object.fromEntries(named));
  const found = await remote.get(`${listPath(of, given)}.json`, answer, query);
  const { [of.rowsAs]: all, next: place, back: _, ...beside } = found;
  const next = z.string().nullable().parse(place);
  const rows = z
    .array(z.unknown())
    .parse(all)
    .map((row) => record.parse(fromWire(of.row, row)));
  z.array(of.row).parse(rows);
  return {
    // The members are in the order of the console, in which this program would read them itself.
    rows,
    hasMore: next !== null,
    next,
    notes: z.array(z.string()).parse(found.notes ?? []),
    beside: Object(fromWire(of.beside, beside)),
  };
}

/**
 * Gives the surroundings of lists on this machine.
 * @param rulesOf rules in the place of those in force
 */
export async function withReading<T>(
  command: Command,
  context: CliContext,
  read: (from: Reading) => Promise<T>,
  rulesOf?: (db: Db) => Promise<RuleSet>,
): Promise<T> {
  const now = systemClock().now();
  // Rows and what stands beside them are of one reading.
  let suggested: Promise<Suggestion> | undefined;
  return withMirror(command, context, (db, store, config) =>
    read({
      db,
      snapshot: store.snapshot.bind(store),
      now,
      pulled: pulledStreams(config),
      notAtLevel: streamsNotAtLevel(config),
      dataDir: config.dataDir,
      rowsMax: ROWS_MAX,
      reports: config.reports,
      rules: {
        inForce: async () =>
          (await rulesOf?.(db)) ??
          (await (await import('../decisions/simulation/rule-sets.ts')).ruleSetInForce(db)).ruleSet,
        figures: async () =>
          (await import('../decisions/simulation/rule-figures.ts')).ruleFigures(db, now),
        async suggest(wish) {
          const { runSuggest } = await import('../suggest/beside.ts');
          suggested ??= runSuggest(storeOptions(config), systemClock(), wish);
          return suggested;
        },
      },
      timeZone: async () => (await import('./report/zone.ts')).timeZoneOf(config),
      rates: config.console.rates,
      sessionIdleMs: config.console.sessions.idle,
      me: userName(),
      seesAddresses: true,
      masked: async (_orderIds, value) => value,
      maskedEach: async (rows) => rows,
    }),
  );
}

/**
 * Reads rows of the database of this machine, or of the console that `--url` names.
 * @param rulesOf rules in the place of those in force
 */
export async function readRows(
  command: Command,
  context: CliContext,
  of: List,
  given: Given,
  rulesOf?: (db: Db) => Promise<RuleSet>,
): Promise<FoundPage> {
  const remote = remoteConsoleOf(command, context);
  if (remote) return readRemote(remote, of, given);
  const read = async (from: Reading) => {
    const { rows, next } = await of.read(from, given);
    const beside = of.isWhole ? await of.readBeside(from, given, rows) : {};
    return { rows, hasMore: next !== null, next, notes: await of.notes(from), beside };
  };
  return withReading(command, context, read, rulesOf);
}

/** Reads rows as the options of a command say, and shows them. */
export async function showRows(
  command: Command,
  context: CliContext,
  of: List,
  given: Given,
): Promise<void> {
  const { limit } = command.opts<Options>();
  printRows(command, context.output, of, await readRows(command, context, of, { ...given, limit }));
}

/** Shows rows in the form that the options of the command name. */
export function printRows(
  command: Command,
  output: Output,
  of: List,
  { rows, hasMore, notes, beside }: Found,
): void {
  const { json, csv, limit } = command.opts<Options>();
  if (hasMore) output.note(`there are more than ${limit} rows; --limit shows more`);
  if (json === true) {
    output.json(of.isWhole ? { ...beside, [of.rowsAs]: rows } : rows);
    return;
  }
  if (csv === true) {
    const table = csvTable(of, rows);
    for (const cells of [table.columns, ...table.rows]) output.data(csvLine(cells));
    return;
  }
  const now = systemClock().now();
  for (const note of notes) output.line(note);
  showTable(output, of, rows, now);
}

/** Shows rows as a table with the columns that a terminal has room for. */
export function showTable(output: Output, of: List, rows: readonly Given[], now: number): void {
  output.table(
    terminalColumns(of).map(({ title }) => title.toUpperCase()),
    rows.map((row) => cellsOf(of, row, now)),
  );
}

/** Options that every list has, apart from its filter. */
export function placeOptions(
  of: List,
  command: Command,
  { limit = of.limit, most = ROWS_MAX }: { readonly limit?: number; readonly most?: number } = {},
): Command {
  const [first] = of.sorts;
  if (first !== undefined) {
    const sort = new Option('--sort <column>', 'the column by which rows are sorted');
    command.addOption(sort.choices([...of.sorts]));
    command.option('--descending', 'with --sort: the largest first');
  }
  return command
    .option('--limit <n>', 'how many at the most', wholeNumber(1, most), limit)
    .option('--json', 'as JSON')
    .option('--csv', 'as CSV');
}

/** Cells of a row for a terminal; the name of a thing is the one that commands take. */
export function cellsOf(of: List, row: Given, now: number): string[] {
  return terminalColumns(of).map((column) => {
    const { name, member } = column;
    if (name !== undefined && member?.words && member.link !== undefined) return String(row[name]);
    return textCell(column, row, now)?.replaceAll('\n', ', ') ?? '-';
  });
}

function terminalColumns({ shown, terminal }: List): readonly Shown[] {
  return shown.filter(({ title }) => terminal?.includes(title) ?? true);
}

/** Shows rows in another way than as a list; false: the list is shown. */
export type Instead = (command: Command) => Promise<boolean>;

export function listCommand(of: List, context: CliContext, instead?: Instead): Command {
  const { shape } = of.query;
  const command = new Command(wordOf(of)).summary(of.about);
  if (of.more !== undefined) command.description(of.more);
  for (const [name, schema] of Object.entries(shape)) {
    if (of.args.includes(name)) command.addArgument(memberArgument(name, schema));
    else command.addOption(memberOption(name, schema));
  }
  placeOptions(of, command)
    .addHelpText('after', examples(of.examples))
    .action(async () => {
      if (await instead?.(command)) return;
      const options = Object.entries(command.opts<Given>());
      const named = of.args.map((name, index) => [name, command.processedArgs[index]] as const);
      const stated = [...options, ...named].filter(
        ([name, value]) => value !== undefined && (name in shape || ORDER.includes(name)),
      );
      await showRows(command, context, of, Object.fromEntries(stated));
    });
  if (of.args.length > 0) markThing(command, of.thing);
  return allowOverUrl(command);
}
