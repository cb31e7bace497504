/** Parameters of a report: turns texts that a person gives into values for its SQL. */
import type { Clock } from '../lib/clock.ts';
import { UsageError } from '../lib/errors.ts';
import { beginOf, localMoment } from '../lib/local-time.ts';
import { nearestName } from '../lib/nearest.ts';
import { parseDuration } from '../lib/units.ts';
import type { Report } from './report-file.ts';
import { isChoice, type Parameter } from './report-head.ts';

export type ParameterValues = Readonly<Record<string, string | number>>;

/** Zone of the house, and the time now. */
interface Here {
  readonly clock: Clock;
  readonly timeZone: () => string;
}

/** Epoch ms of the local `2026-03-31`, of `2026-03-31T18:00:00Z`, or of the time `28d` ago. */
function timeOf(
  text: string,
  from: Parameter['from'],
  { clock, timeZone }: Here,
): number | undefined {
  const ago = parseDuration(text);
  const at = ago === undefined ? localMoment(text, timeZone()) : clock.now() - ago;
  return at === undefined || from === undefined ? at : beginOf(from, at, timeZone());
}

const WANTED = {
  text: 'a text',
  number: 'a whole number',
  time: 'a time such as 2026-03-31T18:00:00Z, or how long ago, such as 28d',
} as const;

function boundValue(
  name: string,
  { type, choices, from }: Parameter,
  given: string,
  here: Here,
): string | number {
  if (!isChoice(choices, given)) {
    const message = `${name} must be one of ${choices?.join(', ')}, not ${given}`;
    throw new UsageError('report.bad_parameter', message, {
      hint: 'selvedge report list --json tells the parameters of each report',
    });
  }
  if (type === 'text') return given;
  const value = type === 'time' ? timeOf(given, from, here) : Number(given);
  if (given.trim() !== '' && value !== undefined && Number.isSafeInteger(value)) return value;
  throw new UsageError('report.bad_parameter', `${name} must be ${WANTED[type]}, not ${given}`);
}

/**
 * Values for every parameter of the report; a UsageError names what is missing or unknown.
 * `timeZone`: that of the house, asked where a day is given or meant.
 */
export function bindParameters(
  report: Report,
  given: Readonly<Record<string, string>>,
  clock: Clock,
  timeZone: () => string = () => 'UTC',
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
      if (text !== undefined) return [name, boundValue(name, parameter, text, { clock, timeZone })];
      throw new UsageError('report.missing_parameter', `${report.name} needs ${name}`, {
        hint: `give it with --param ${name}=… (${parameter.about})`,
      });
    }),
  );
}
