/** `selvedge report snapshot`: copies the mirror for reports elsewhere. */
import { join, parse, resolve } from 'node:path';
import { Command } from 'commander';
import { UsageError } from '../../lib/errors.ts';
import { writeOutput } from '../../report/output-file.ts';
import { readReports } from '../../report/report-file.ts';
import { datasetteMetadata, publishSnapshot } from '../../report/snapshot.ts';
import { requireReadable, storeOptions } from '../../store/store.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';
import { noteWrong } from './list.ts';

interface Options {
  readonly metadata?: string;
  readonly servedAs?: string;
}

function requireServedAs({ metadata, servedAs }: Options): void {
  if (servedAs === undefined || metadata !== undefined) return;
  throw new UsageError('report.no_metadata', '--served-as names the database in --metadata', {
    hint: 'name a file: --metadata metadata.json',
  });
}

export function reportSnapshot(context: CliContext): Command {
  return new Command('snapshot')
    .summary('copy the mirror for reports elsewhere')
    .description(
      'Writes one plain file, whole and at once, in place of an older one. The daemon goes on\n' +
        'meanwhile. Not a backup: see `selvedge backup`.',
    )
    .argument('[path]', 'the file (default: snapshot.db in the data folder)')
    .option('--metadata <file>', 'also write the descriptions for Datasette')
    .option('--served-as <name>', 'the name of the database there (default: that of the file)')
    .addHelpText(
      'after',
      examples([
        ['report snapshot', 'into the data folder'],
        ['report snapshot reports/mirror.db --metadata reports/metadata.json', 'for Datasette'],
      ]),
    )
    .action(async (path: string | undefined, options: Options, command: Command) => {
      const { config } = configOf(command, context);
      requireServedAs(options);
      const target = resolve(path ?? join(config.dataDir, 'snapshot.db'));
      await requireReadable(storeOptions(config));
      publishSnapshot(storeOptions(config), target);
      context.output.line(`written: ${target}`);
      if (options.metadata === undefined) return;
      const database = options.servedAs ?? parse(target).name;
      const { reports, wrong } = readReports(config.reports.directory);
      const metadata = datasetteMetadata(database, reports);
      writeOutput(options.metadata, Buffer.from(`${JSON.stringify(metadata, null, 2)}\n`));
      context.output.line(`written: ${resolve(options.metadata)}`);
      noteWrong(context.output, wrong);
    });
}
