/** Arguments and options that several commands read the same way. */
import { InvalidArgumentError } from 'commander';
import { UsageError } from '../lib/errors.ts';
import { formatDuration, parseDuration, parseTime } from '../lib/units.ts';

/** For commander: a whole number from `min` to `max`; what is none is refused, never rounded. */
export function wholeNumber(min = 0, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    const upTo = max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `from ${min} to ${max}`;
    throw new InvalidArgumentError(`It must be a whole number ${upTo}.`);
  };
}

/** For commander: `30s`, `90d` and the like, in milliseconds. */
export function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('It must be a duration such as 30s.');
  return ms;
}

/** The same within bounds, in milliseconds. */
export function durationWithin(min: number, max: number): (text: string) => number {
  return (text) => {
    const ms = duration(text);
    if (ms >= min && ms <= max) return ms;
    const [least, most] = [formatDuration(min), formatDuration(max)];
    throw new InvalidArgumentError(`It must be from ${least} to ${most}.`);
  };
}

/**
 * A point in time as people give it: `2026-11-21`, `2026-11-21T08:00:00Z`, or `7d` for ago. Epoch
 * milliseconds, never before 1970: nothing is older, and a date ends somewhere.
 */
export function parseMoment(text: string, now: number): number {
  const ago = parseDuration(text);
  const at = ago === undefined ? parseTime(text) : now - ago;
  if (at !== undefined) return Math.max(0, at);
  throw new UsageError('cli.no_time', `"${text}" is no point in time`, {
    hint: 'write 2026-11-21, 2026-11-21T08:00:00Z, or 7d for seven days ago',
  });
}

const REASON_LENGTH_MAX = 1_000;

/** For commander: why somebody does what may be left unexplained. */
export function remark(text: string): string {
  if (text.length <= REASON_LENGTH_MAX) return text;
  throw new InvalidArgumentError(`It must have ${REASON_LENGTH_MAX} characters at the most.`);
}

/** For commander: why somebody does what nobody may do without saying so. */
export function statedReason(text: string): string {
  if (text.trim() !== '' && text.length <= REASON_LENGTH_MAX) return text;
  const most = `${REASON_LENGTH_MAX} characters at the most`;
  throw new InvalidArgumentError(`It must say why, in ${most}.`);
}
