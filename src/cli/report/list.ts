/** `selvedge report list`: lists the reports and their schedules, also before there is a mirror. */
import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import type { Config } from '../../config/schema.ts';
import { systemClock } from '../../lib/clock.ts';
import { EXIT } from '../../lib/errors.ts';
import { readReportList, reports, schedules } from '../../report/lists.ts';
import type { WrongReport } from '../../report/report-file.ts';
import { openReadOnlyStore, storeOptions } from '../../store/store.ts';
import { toWire } from '../../surface/forms.ts';
import { pageOfAll } from '../../surface/lists.ts';
import type { CliContext } from '../command.ts';
import { configOf } from '../configuration.ts';
import type { Output } from '../output.ts';
import { remoteConsoleOf } from '../remote/console.ts';
import { listCommand, printRows } from '../surface-lists.ts';
import { timeZoneOf } from './zone.ts';

/** Names the report files that are invalid, each with its mistake. */
export function noteWrong(output: Output, wrong: readonly WrongReport[]): void {
  for (const { error } of wrong) output.note(`wrong: ${error.message}\n    hint: ${error.hint}`);
}

async function readList(config: Config) {
  const { path } = storeOptions(config);
  const store = existsSync(path) ? await openReadOnlyStore(storeOptions(config)) : undefined;
  try {
    const now = systemClock().now();
    return await readReportList(store?.db, config.reports, timeZoneOf(config), now);
  } finally {
    await store?.close();
  }
}

interface Options {
  readonly json?: boolean;
  readonly csv?: boolean;
  readonly limit: number;
  readonly sort?: string;
  readonly descending?: boolean;
}

/** Shows the reports of this machine; false: those of a console are shown. */
async function show(command: Command, context: CliContext): Promise<boolean> {
  if (remoteConsoleOf(command, context)) return false;
  const { output } = context;
  const { json, csv, limit, sort, descending = false } = command.opts<Options>();
  const { rows, wrong } = await readList(configOf(command, context).config);
  if (wrong.length > 0) context.setExitCode(EXIT.config.code);
  const shown = pageOfAll(rows, { limit, sort, descending }, ({ name }) => name);
  if (json === true) {
    const bad = wrong.map(({ name, error: { code, message, hint } }) => {
      return { name, error: { code, message, hint } };
    });
    output.json([...shown.map((row) => toWire(reports.row, row)), ...bad]);
    return true;
  }
  printRows(command, output, reports, { rows: shown, hasMore: rows.length > limit, notes: [] });
  const planned = rows.flatMap((row) => row.schedules);
  if (planned.length > 0 && csv !== true) {
    output.line();
    printRows(command, output, schedules, { rows: planned, hasMore: false, notes: [] });
  }
  noteWrong(output, wrong);
  return true;
}

export function reportList(context: CliContext): Command {
  return listCommand(reports, context, (command) => show(command, context));
}
