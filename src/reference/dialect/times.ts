/** Times as an account writes them: with a zone or as local times, in ISO 8601 or as in SQL. */
import type { Dialect } from '../control/dialect-knobs.ts';

type TimeDialect = Pick<Dialect, 'times' | 'timeZone' | 'timeFormat'>;

/** `2026-01-02T03:04:05.678` on the clocks of the zone. */
function localIso(ms: number, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en-US', {
    ...{ timeZone, hourCycle: 'h23', fractionalSecondDigits: 3 },
    ...{ year: 'numeric', month: '2-digit', day: '2-digit' },
    ...{ hour: '2-digit', minute: '2-digit', second: '2-digit' },
  });
  const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]));
  const at = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? '';
  const day = `${at('year').padStart(4, '0')}-${at('month')}-${at('day')}`;
  return `${day}T${at('hour')}:${at('minute')}:${at('second')}.${at('fractionalSecond')}`;
}

/** `+01:00`, from what the clocks of the zone show. */
function offsetOf(ms: number, local: string): string {
  const minutes = Math.round((Date.parse(`${local}Z`) - ms) / 60_000);
  if (minutes === 0) return 'Z';
  const two = (value: number): string => String(Math.trunc(value)).padStart(2, '0');
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${two(size / 60)}:${two(size % 60)}`;
}

/** The same time in the account's way; a text that is no time stays as it is. */
export function spelledTime(iso: string, { times, timeZone, timeFormat }: TimeDialect): string {
  const ms = Date.parse(iso);
  if (Number.isNaN(ms)) return iso;
  const local = localIso(ms, timeZone);
  const zone = times === 'local' ? '' : offsetOf(ms, local);
  return timeFormat === 'sql'
    ? local.replace('T', ' ').replace(/\.\d+$/, '') + zone
    : `${local}${zone}`;
}
