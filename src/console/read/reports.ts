/** Reads reports for pages: all of them with their schedules, and the parameters of one. */

import type { Clock } from '../../lib/clock.ts';
import { UsageError } from '../../lib/errors.ts';
import { bindParameters, type ParameterValues } from '../../report/parameters.ts';
import { findReport, type Report, readReports } from '../../report/report-file.ts';
import { nextDue } from '../../report/schedules/due.ts';
import { readSchedule, type ScheduleResult } from '../../report/schedules/state.ts';
import type { Db } from '../../store/store.ts';
import { RefusedHere, type ReportSettings } from '../context.ts';

/** Schedule of a report, with the result of its last try. */
export interface ScheduleRow {
  readonly name: string;
  readonly report: string;
  readonly every: string;
  readonly format: string;
  /** Epoch ms when the report is due next; null: no such time is known. */
  readonly nextAt: number | null;
  /** Epoch ms when a failed report is tried again; null: it is not. */
  readonly retryAt: number | null;
  readonly last: ScheduleResult | null;
}

export interface ReportRow {
  readonly name: string;
  readonly title: string;
  readonly about: string | null;
  readonly params: Report['params'];
  readonly schedules: readonly ScheduleRow[];
}

export interface ReportList {
  readonly reports: readonly ReportRow[];
  /** Files of the reports' folder that are no valid reports, each with its error. */
  readonly wrong: readonly { readonly name: string; readonly message: string }[];
}

export async function readSchedules(
  db: Db,
  { schedules }: ReportSettings,
  timeZone: string,
  now: number,
): Promise<ScheduleRow[]> {
  const rows: ScheduleRow[] = [];
  for (const { name, report, every, format } of schedules) {
    const state = await readSchedule(db, name);
    const nextAt = nextDue(every, timeZone, now);
    rows.push({
      ...{ name, report, every: every.text, format },
      nextAt: Number.isFinite(nextAt) ? nextAt : null,
      retryAt: state?.last?.isGood === false ? state.retryAt : null,
      last: state?.last ?? null,
    });
  }
  return rows;
}

export async function readReportList(
  db: Db,
  settings: ReportSettings,
  timeZone: string,
  now: number,
): Promise<ReportList> {
  const { reports, wrong } = readReports(settings.directory);
  const schedules = await readSchedules(db, settings, timeZone, now);
  return {
    reports: reports.map(({ name, title, about, params }) => ({
      ...{ name, title, about: about ?? null, params },
      schedules: schedules.filter(({ report }) => report === name),
    })),
    wrong: wrong.map(({ name, error }) => ({ name, message: error.message })),
  };
}

/** Finds a report; its `file` has no folder, so that messages hide the host's paths. */
export function namedReport({ directory }: ReportSettings, name: string): Report {
  return { ...findReport(directory, name), file: `${name}.sql` };
}

/**
 * Values of the report's parameters; empty ones count as not given. @throws RefusedHere with status
 * 400, which names what is missing or wrong
 */
export function valuesOf(
  report: Report,
  given: Readonly<Record<string, string>>,
  clock: Clock,
): ParameterValues {
  const filled = Object.entries(given).filter(([, text]) => text.trim() !== '');
  try {
    return bindParameters(report, Object.fromEntries(filled), clock);
  } catch (thrown) {
    if (!(thrown instanceof UsageError)) throw thrown;
    const { code, message } = thrown;
    const [missing] = missingOf(report, given);
    const hint =
      missing === undefined ? thrown.hint : `${missing}: ${report.params[missing]?.about ?? ''}`;
    throw new RefusedHere({ status: 400, code, message, hint });
  }
}

/** Names of the parameters that still need a value. */
export function missingOf(
  { params }: Report,
  given: Readonly<Record<string, string>>,
): readonly string[] {
  return Object.entries(params).flatMap(([name, { default: preset }]) =>
    preset === undefined && (given[name] ?? '').trim() === '' ? [name] : [],
  );
}
