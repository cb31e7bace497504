/** `selvedge report run`: one report, written as a person or a program wants it. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { systemClock } from '../../lib/clock.ts';
import { createReportWriter, FORMATS, type Format } from '../../report/formats.ts';
import { bindParameters } from '../../report/parameters.ts';
import { runQuery } from '../../report/query.ts';
import { findReport } from '../../report/report-file.ts';
import { storeOptions } from '../../store/store.ts';
import { duration, wholeNumber } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';

interface Options {
  readonly param: Readonly<Record<string, string>>;
  readonly format: Format;
  readonly limit: number;
  readonly timeout: number;
}

const ROWS_MAX = 10_000;

const TIMEOUT_MS = 30_000;

function collect(text: string, before: Readonly<Record<string, string>>): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('Write it as name=value.');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

export function reportRun(context: CliContext): Command {
  const { output } = context;
  return new Command('run')
    .summary('run a report')
    .description('Reads the database only, in a process of its own: the daemon goes on meanwhile.')
    .argument('<name>', 'a name that `report list` shows')
    .option('--param <name=value>', 'a parameter of the report (repeatable)', collect, {})
    .addOption(
      new Option('--format <format>', 'how it is written').choices([...FORMATS]).default('table'),
    )
    .option('--limit <rows>', 'rows at most', wholeNumber(1), ROWS_MAX)
    .addOption(
      new Option('--timeout <duration>', 'ends a query that takes longer')
        .argParser(duration)
        .default(TIMEOUT_MS, '30s'),
    )
    .addHelpText(
      'after',
      examples([
        ['report run held-deliveries', 'what waits for a person'],
        ['report run stock-grid --param style=S-1001', 'one style'],
        ['report run decisions-per-day --param since=7d --format csv', 'for a spreadsheet'],
      ]),
    )
    .action(async (name: string, options: Options, command: Command) => {
      const { config } = configOf(command, context);
      const clock = systemClock();
      const { limit, timeout } = options;
      const report = findReport(config.reports.directory, name);
      const values = bindParameters(report, options.param, clock);
      const writer = createReportWriter(options.format, output);
      const query = {
        ...storeOptions(config),
        sql: report.sql,
        file: report.file,
        values,
        rowsMax: limit,
      };
      const { isCut } = await runQuery(query, timeout, clock, writer);
      writer.close();
      if (isCut) output.note(`there are more than ${limit} rows; --limit shows more`);
    });
}
