/** `selvedge report run`: runs one report and writes it for a person or a program. */
import { resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { Config } from '../../config/schema.ts';
import { systemClock } from '../../lib/clock.ts';
import { UsageError } from '../../lib/errors.ts';
import { planeAccount, planeAddress } from '../../ops/plane-copy.ts';
import { openPlaneSession } from '../../plane/reader.ts';
import { requireLocale } from '../../report/cells.ts';
import type { ReportDocument } from '../../report/document.ts';
import {
  createLineWriter,
  FORMATS,
  type Format,
  isLineFormat,
  objectsOf,
  textTable,
} from '../../report/formats.ts';
import type { RunRows } from '../../report/make.ts';
import { documentOf, makeFile, type Order, rowsOfMirror } from '../../report/make.ts';
import { requireOutput, writeOutput } from '../../report/output-file.ts';
import { bindParameters } from '../../report/parameters.ts';
import { reportOfAll, runOnPlane } from '../../report/plane.ts';
import { findReport, planeSqlOf } from '../../report/report-file.ts';
import { requireColumns } from '../../report/table.ts';
import { declaredKind } from '../../report/words/columns.ts';
import { requireReadable, storeOptions } from '../../store/store.ts';
import { duration, wholeNumber } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';
import type { Output } from '../output.ts';
import { timeZoneOf } from './zone.ts';

// Reads a report's rows from the plane: of this account, of another one, or of all.

/** A report as it is run, and the function that reads its rows. */
interface Job extends Pick<Order, 'report' | 'values' | 'manner' | 'rowsMax'> {
  readonly rows: RunRows;
}

const ALL = 'all';

function jobOnPlane(config: Config, order: Order, named?: string): Job {
  const { report, values, rowsMax, timeMaxMs } = order;
  const { schema } = config.plane;
  const query = { params: report.params, sql: planeSqlOf(report), values, rowsMax };
  const url = planeAddress(config);
  const account = named === ALL ? null : (named ?? planeAccount(config));
  return {
    ...order,
    report: account === null ? reportOfAll(report) : report,
    async rows(sink) {
      const session = await openPlaneSession({ url, schema, timeMaxMs });
      try {
        return await runOnPlane(session, { ...query, account }, sink);
      } finally {
        await session.end();
      }
    },
  };
}

interface Options {
  readonly param: Readonly<Record<string, string>>;
  readonly format?: Format;
  readonly json?: boolean;
  readonly output?: string;
  readonly locale?: string;
  readonly limit: number;
  readonly timeout: number;
  readonly on?: 'plane';
  readonly account?: string;
}

const ROWS_MAX = 10_000;

const TIMEOUT_MS = 30_000;

function collect(text: string, before: Readonly<Record<string, string>>): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('Write it as name=value.');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

function formatOf({ format, json, output }: Options, { isTerminal }: Output): Format {
  if (json === true && format !== undefined && format !== 'json') {
    throw new UsageError('report.two_formats', `--json and --format ${format} are two formats`, {
      hint: 'give one of them',
    });
  }
  const wanted = json === true ? 'json' : (format ?? 'table');
  const isFile = wanted === 'xlsx' || wanted === 'html' || wanted === 'svg';
  if (isFile && isTerminal && output === undefined) {
    throw new UsageError('report.needs_output', `${wanted} is no text for a terminal`, {
      hint: `name a file: --output report.${wanted}`,
    });
  }
  return wanted;
}

/** Whether a format shows times of day in a zone; programs get them in UTC. */
function showsTimes(format: Format): boolean {
  return format !== 'json' && !isLineFormat(format);
}

function tellNotes(output: Output, { table }: ReportDocument, isCut: boolean, limit: number): void {
  const [first, ...others] = table.notes;
  if (isCut) output.note(`there are more than ${limit} rows; --limit shows more`);
  else if (first !== undefined) output.note(first);
  for (const note of others) output.note(note);
}

function print(output: Output, document: ReportDocument): void {
  const { report, table, manner } = document;
  if (table.rows.length === 0 && report.empty !== undefined) {
    output.line(report.empty);
    return;
  }
  const { titles, rows } = textTable(table, manner);
  output.table(titles, rows);
}

/**
 * Writes rows as they are read, if the format needs nothing but rows: `| head` need not wait for
 * the last. Returns false for other reports.
 */
async function stream(output: Output, job: Job, format: Format): Promise<boolean> {
  const { report, manner } = job;
  if (!isLineFormat(format) || report.pivot) return false;
  const line = format === 'csv' ? output.data : output.line;
  const kindOf = (name: string) => declaredKind(report, name);
  const writer = createLineWriter(format, { locale: manner.locale, kindOf }, line);
  const sink = {
    ...writer,
    columns(names: readonly string[]) {
      requireColumns(report, names);
      writer.columns(names);
    },
  };
  const { isCut } = await job.rows(sink);
  if (isCut) output.note(`there are more than ${job.rowsMax} rows; --limit shows more`);
  return true;
}

async function run(output: Output, job: Job, options: Options, format: Format): Promise<void> {
  const target = options.output === undefined ? undefined : resolve(options.output);
  if (target !== undefined) requireOutput(target);
  else if (await stream(output, job, format)) return;
  const document = await documentOf(job, systemClock(), job.rows);
  if (target !== undefined) {
    writeOutput(target, await makeFile(document, format));
    output.line(`written: ${target}`);
  } else if (format === 'table') print(output, document);
  else if (format === 'json') output.json(objectsOf(document.table));
  else output.bytes(await makeFile(document, format));
  tellNotes(output, document, document.isCut, job.rowsMax);
}

/** Chooses the database on which the report runs. */
async function jobOf(config: Config, order: Order, { on, account }: Options): Promise<Job> {
  if (on === 'plane') return jobOnPlane(config, order, account);
  if (account === undefined) {
    await requireReadable(order.store);
    return { ...order, rows: rowsOfMirror(order, systemClock()) };
  }
  throw new UsageError('report.no_plane', 'only the plane has several accounts', {
    hint: 'add --on plane',
  });
}

export function reportRun(context: CliContext): Command {
  const { output } = context;
  return new Command('run')
    .summary('run a report')
    .description('Reads the database only, in a process of its own: the daemon goes on meanwhile.')
    .argument('<name>', 'a name that `report list` shows')
    .option('--param <name=value>', 'a parameter of the report (repeatable)', collect, {})
    .addOption(
      new Option('--format <format>', 'how it is written (default: table)').choices([...FORMATS]),
    )
    .option('--json', 'the same as --format json')
    .option('--output <file>', 'writes a file, whole and at once, in place of an older one')
    .option('--locale <locale>', 'numbers and dates as de-DE, en-GB, … writes them')
    .option('--limit <rows>', 'rows at most', wholeNumber(1), ROWS_MAX)
    .addOption(
      new Option('--timeout <duration>', 'ends a query that takes longer')
        .argParser(duration)
        .default(TIMEOUT_MS, '30s'),
    )
    .addOption(
      new Option('--on <place>', 'the copy in PostgreSQL (default: the mirror)').choices(['plane']),
    )
    .option('--account <name>', 'of the plane: an account, or all (default: this one)')
    .addHelpText(
      'after',
      examples([
        ['report run held-deliveries', 'what is held, and why'],
        ['report run stock-grid --param style=S-1001', 'one style'],
        ['report run order-book --format xlsx --output book.xlsx', 'a workbook'],
        ['report run decisions-per-day --format csv --locale de-DE', 'for a German spreadsheet'],
        ['report run stock-value --on plane --account all', 'of all brands'],
      ]),
    )
    .action(async (name: string, options: Options, command: Command) => {
      const { config } = configOf(command, context);
      const format = formatOf(options, output);
      const given = options.locale ?? config.reports.locale ?? undefined;
      const locale = given === undefined ? undefined : requireLocale(given);
      const report = findReport(config.reports.directory, name);
      const order = {
        report,
        values: bindParameters(report, options.param, systemClock(), () => timeZoneOf(config)),
        manner: { locale, timeZone: showsTimes(format) ? timeZoneOf(config) : 'UTC' },
        rowsMax: options.limit,
        timeMaxMs: options.timeout,
        store: storeOptions(config),
      };
      await run(output, await jobOf(config, order, options), options, format);
    });
}
