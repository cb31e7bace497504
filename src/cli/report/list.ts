/** `selvedge report list`: the reports there are. */
import { Command } from 'commander';
import { EXIT } from '../../lib/errors.ts';
import { parameterUsage } from '../../report/parameters.ts';
import { readReports, type WrongReport } from '../../report/report-file.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';
import type { Output } from '../output.ts';

/** Names the files that are no reports, with what is wrong. */
export function noteWrong(output: Output, wrong: readonly WrongReport[]): void {
  for (const { error } of wrong) output.note(`wrong: ${error.message}\n    hint: ${error.hint}`);
}

export function reportList(context: CliContext): Command {
  return new Command('list')
    .summary('show the reports there are')
    .description(
      'Those that came along and those in the folder of the configuration (reports.directory).',
    )
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['report list', 'names, parameters and titles']]))
    .action((options: { json?: boolean }, command: Command) => {
      const { config } = configOf(command, context);
      const { reports, wrong } = readReports(config.reports.directory);
      if (wrong.length > 0) context.setExitCode(EXIT.config.code);
      if (options.json === true) {
        const good = reports.map(({ name, title, about, params }) => ({
          name,
          title,
          params,
          ...(about === undefined ? {} : { about }),
        }));
        const bad = wrong.map(({ name, error }) => ({
          name,
          error: { code: error.code, message: error.message, hint: error.hint },
        }));
        context.output.json([...good, ...bad]);
        return;
      }
      const rows = reports.map((report) => [report.name, parameterUsage(report), report.title]);
      context.output.table(['REPORT', 'PARAMETERS', 'TITLE'], rows);
      noteWrong(context.output, wrong);
    });
}
