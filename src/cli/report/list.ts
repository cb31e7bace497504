/** `selvedge report list`: the reports there are. */
import { Command } from 'commander';
import { parameterUsage } from '../../report/parameters.ts';
import { readReports } from '../../report/report-file.ts';
import { type CliContext, configOf, examples } from '../command.ts';

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
      const reports = readReports(config.reports.directory);
      if (options.json === true) {
        context.output.json(
          reports.map(({ name, title, about, params }) => ({
            ...{ name, title, params },
            ...(about === undefined ? {} : { about }),
          })),
        );
        return;
      }
      const rows = reports.map((report) => [report.name, parameterUsage(report), report.title]);
      context.output.table(['REPORT', 'PARAMETERS', 'TITLE'], rows);
    });
}
