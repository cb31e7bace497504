/** Parsers of arguments and options that several commands have. */
import { InvalidArgumentError } from 'commander';
import { UsageError } from '../lib/errors.ts';
import { localMoment } from '../lib/local-time.ts';
import { formatDuration, parseDuration } from '../lib/units.ts';

/**
 * Builds commander's parser of a whole number from `min` to `max`; another text is refused, never
 * rounded.
 */
export function wholeNumber(min = 0, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    const upTo = max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `from ${min} to ${max}`;
    throw new InvalidArgumentError(`It must be a whole number ${upTo}.`);
  };
}

/** Commander's parser of a duration (`30s`, `90d`), in milliseconds. */
export function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('It must be a duration such as 30s.');
  return ms;
}

/** Builds commander's parser of a duration within bounds, in milliseconds. */
export function durationWithin(min: number, max: number): (text: string) => number {
  return (text) => {
    const ms = duration(text);
    if (ms >= min && ms <= max) return ms;
    const [least, most] = [formatDuration(min), formatDuration(max)];
    throw new InvalidArgumentError(`It must be from ${least} to ${most}.`);
  };
}

/**
 * Reads a point in time as epoch milliseconds: the local `2026-11-21`, `2026-11-21T08:00:00Z`, or
 * `7d` for seven days ago. A time before 1970 counts as 1970, because nothing is older.
 */
export function parseMoment(text: string, now: number, timeZone: () => string): number {
  const ago = parseDuration(text);
  const at = ago === undefined ? localMoment(text, timeZone()) : now - ago;
  if (at !== undefined) return Math.max(0, at);
  throw new UsageError('cli.no_time', `"${text}" is no point in time`, {
    hint: 'write 2026-11-21, 2026-11-21T08:00:00Z, or 7d for seven days ago',
  });
}

const REASON_LENGTH_MAX = 1_000;

/** Commander's parser of a reason that may be left out. */
export function remark(text: string): string {
  if (text.length <= REASON_LENGTH_MAX) return text;
  throw new InvalidArgumentError(`It must have ${REASON_LENGTH_MAX} characters at the most.`);
}

/** Commander's parser of a reason that an act requires. */
export function statedReason(text: string): string {
  if (text.trim() !== '' && text.length <= REASON_LENGTH_MAX) return text;
  const most = `${REASON_LENGTH_MAX} characters at the most`;
  throw new InvalidArgumentError(`It must say why, in ${most}.`);
}
