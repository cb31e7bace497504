/** Arguments and options that several commands read the same way. */
import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../lib/units.ts';

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
