/** Parameters of a report: turns texts that a person gives into values for its SQL. */
import type { Clock } from '../lib/clock.ts';
import { UsageError } from '../lib/errors.ts';
import { nearestName } from '../lib/nearest.ts';
import { parseDuration, parseTime } from '../lib/units.ts';
import type { Report } from './report-file.ts';
import { isChoice, type Parameter } from './report-head.ts';

export type ParameterValues = Readonly<Record<string, string | number>>;

/** Epoch ms of `2026-03-31`, `2026-03-31T18:00:00Z`, or of the time `28d` ago. */
function timeOf(text: string, clock: Clock): number | undefined {
  const ago = parseDuration(text);
  return ago === undefined ? parseTime(text) : clock.now() - ago;
}

const WANTED = {
  text: 'a text',
  number: 'a whole number',
  time: 'a time such as 2026-03-31T18:00:00Z, or how long ago, such as 28d',
} as const;

function boundValue(
  name: string,
  { type, choices }: Parameter,
  given: string,
  clock: Clock,
): string | number {
  if (!isChoice(choices, given)) {
    const message = `${name} must be one of ${choices?.join(', ')}, not ${given}`;
    throw new UsageError('report.bad_parameter', message, {
      hint: 'selvedge report list --json tells the parameters of each report',
    });
  }
  if (type === 'text') return given;
  const value = type === 'time' ? timeOf(given, clock) : Number(given);
  if (given.trim() !== '' && value !== undefined && Number.isSafeInteger(value)) return value;
  throw new UsageError('report.bad_parameter', `${name} must be ${WANTED[type]}, not ${given}`);
}

/** Values for every parameter of the report; a UsageError names what is missing or unknown. */
export function bindParameters(
  report: Report,
  given: Readonly<Record<string, string>>,
  clock: Clock,
): ParameterValues {
  const names = Object.keys(report.params);
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    const near = nearestName(unknown, names);
    const has = names.length === 0 ? 'it takes none' : `it takes ${names.join(', ')}`;
    throw new UsageError('report.bad_parameter', `${report.name} has no parameter ${unknown}`, {
      hint: near === undefined ? has : `did you mean ${near}?`,
    });
  }
  return Object.fromEntries(
    Object.entries(report.params).map(([name, parameter]) => {
      const text = given[name] ?? parameter.default;
      if (text !== undefined) return [name, boundValue(name, parameter, text, clock)];
      throw new UsageError('report.missing_parameter', `${report.name} needs ${name}`, {
        hint: `give it with --param ${name}=… (${parameter.about})`,
      });
    }),
  );
}
