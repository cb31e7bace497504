/** Reads a report for its page, and the values of its parameters. */
import type { Clock } from '../../lib/clock.ts';
import { UsageError } from '../../lib/errors.ts';
import { bindParameters, type ParameterValues } from '../../report/parameters.ts';
import { findReport, type Report } from '../../report/report-file.ts';
import { RefusedHere, type ReportSettings } from '../context.ts';

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
