/** A point in time as people give it: `2026-11-21`, `2026-11-21T08:00:00Z`, or `7d` for ago. */
import { UsageError } from '../../lib/errors.ts';
import { parseDuration, parseTime } from '../../lib/units.ts';

/** Epoch milliseconds, never before 1970: nothing is older, and a date ends somewhere. */
export function parseMoment(text: string, now: number): number {
  const ago = parseDuration(text);
  const at = ago === undefined ? parseTime(text) : now - ago;
  if (at !== undefined) return Math.max(0, at);
  throw new UsageError('cli.no_time', `"${text}" is no point in time`, {
    hint: 'write 2026-11-21, 2026-11-21T08:00:00Z, or 7d for seven days ago',
  });
}
