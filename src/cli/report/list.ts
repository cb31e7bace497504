/** `selvedge report list`: lists the reports and their schedules. */
import { existsSync } from 'node:fs';
import { Command } from 'commander';
import type { Config } from '../../config/schema.ts';
import { systemClock } from '../../lib/clock.ts';
import { EXIT } from '../../lib/errors.ts';
import { parameterUsage } from '../../report/parameters.ts';
import { readReports, type WrongReport } from '../../report/report-file.ts';
import { nextDue } from '../../report/schedules/due.ts';
import { readSchedule } from '../../report/schedules/state.ts';
import { openReadOnlyStore, storeOptions } from '../../store/store.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';
import type { Output } from '../output.ts';
import { timeZoneOf } from './zone.ts';

/** Names the report files that are invalid, each with its mistake. */
export function noteWrong(output: Output, wrong: readonly WrongReport[]): void {
  for (const { error } of wrong) output.note(`wrong: ${error.message}\n    hint: ${error.hint}`);
}

interface ShownSchedule {
  readonly name: string;
  readonly report: string;
  readonly every: string;
  readonly format: string;
  /** Next time in UTC as ISO 8601; null: it is not known. */
  readonly nextAt: string | null;
  readonly retryAt: string | null;
  readonly last: {
    readonly at: string;
    readonly isGood: boolean;
    readonly rows: number | null;
    readonly says: string;
  } | null;
}

function isoOf(at: number | null): string | null {
  return at === null || !Number.isFinite(at) ? null : new Date(at).toISOString();
}

/** Lists the schedules with their last results, which the database has. */
async function schedulesOf(config: Config, now: number): Promise<ShownSchedule[]> {
  const { schedules } = config.reports;
  if (schedules.length === 0) return [];
  const { path } = storeOptions(config);
  const store = existsSync(path) ? await openReadOnlyStore(storeOptions(config)) : undefined;
  try {
    const timeZone = timeZoneOf(config);
    const shown: ShownSchedule[] = [];
    for (const { name, report, every, format } of schedules) {
      const state = store && (await readSchedule(store.db, name));
      const last = state?.last ?? null;
      shown.push({
        ...{ name, report, every: every.text, format },
        nextAt: isoOf(nextDue(every, timeZone, now)),
        retryAt: isoOf(state?.retryAt ?? null),
        last: last && { ...last, at: new Date(last.at).toISOString() },
      });
    }
    return shown;
  } finally {
    await store?.close();
  }
}

function resultOf({ last, retryAt }: ShownSchedule): string {
  if (!last) return 'never made';
  if (last.isGood) return `${last.at}: ${last.rows} rows, ${last.says}`;
  const then = retryAt === null ? 'given up until it is due again' : `tried again at ${retryAt}`;
  return `${last.at}: failed, ${then}: ${last.says}`;
}

function showSchedules(output: Output, schedules: readonly ShownSchedule[]): void {
  if (schedules.length === 0) return;
  output.line();
  output.table(
    ['SCHEDULE', 'REPORT', 'EVERY', 'FORMAT', 'NEXT', 'LAST'],
    schedules.map((one) => [
      ...[one.name, one.report, one.every, one.format, one.nextAt ?? '-', resultOf(one)],
    ]),
  );
}

async function list(context: CliContext, config: Config, asJson: boolean): Promise<void> {
  const { reports, wrong } = readReports(config.reports.directory);
  const schedules = await schedulesOf(config, systemClock().now());
  if (wrong.length > 0) context.setExitCode(EXIT.config.code);
  if (!asJson) {
    const rows = reports.map((report) => [report.name, parameterUsage(report), report.title]);
    context.output.table(['REPORT', 'PARAMETERS', 'TITLE'], rows);
    showSchedules(context.output, schedules);
    noteWrong(context.output, wrong);
    return;
  }
  const good = reports.map(({ name, title, about, params }) => {
    const own = schedules.filter(({ report }) => report === name);
    return { name, title, params, about, schedules: own.length === 0 ? undefined : own };
  });
  const bad = wrong.map(({ name, error }) => ({
    name,
    error: { code: error.code, message: error.message, hint: error.hint },
  }));
  context.output.json([...good, ...bad]);
}

export function reportList(context: CliContext): Command {
  return new Command('list')
    .summary('show the reports there are')
    .description(
      'Those that came along and those in the folder of the configuration (reports.directory),\n' +
        'and the schedules (reports.schedules) with their last results.',
    )
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['report list', 'names, parameters and titles']]))
    .action((options: { json?: boolean }, command: Command) =>
      list(context, configOf(command, context).config, options.json === true),
    );
}
