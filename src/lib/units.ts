/**
 * Reads and writes durations, sizes and times as people write them: `15m`, `1h30m`, `64MiB`,
 * `2026-03-31`.
 */

const DURATION_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const SIZE_BYTES = {
  B: 1,
  kB: 1_000,
  MB: 1_000_000,
  GB: 1_000_000_000,
  KiB: 1_024,
  MiB: 1_048_576,
  GiB: 1_073_741_824,
} as const;

function unitOf<T extends Record<string, number>>(table: T, name: string): number | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/**
 * Longest duration: a million days. Longer ones count as this: people write "never" as a row of
 * nines, and a time beyond the calendar cannot be stored or compared.
 */
export const DURATION_MS_MAX = 1_000_000 * DURATION_MS.d;

/** Reads a duration as milliseconds; undefined: the text is none. Every number needs a unit. */
export function parseDuration(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(text)) return undefined;
  let total = 0;
  for (const part of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
    total += Number(part[1]) * (unitOf(DURATION_MS, part[2] ?? '') ?? Number.NaN);
  }
  return Math.round(Math.min(total, DURATION_MS_MAX));
}

const MOMENT = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:?\d\d)?)?$/;

/**
 * Reads a day or a moment as epoch ms, in UTC unless it names a zone; undefined: invalid.
 * JavaScript itself takes `7` for a year, and a moment without a zone as local.
 */
export function parseTime(text: string): number | undefined {
  const [, day = '', time = '00:00', zone = 'Z'] = MOMENT.exec(text) ?? [];
  const start = Date.parse(`${day}T00:00Z`);
  // February 31 is invalid; JavaScript would turn it into a day in March.
  if (Number.isNaN(start) || !new Date(start).toISOString().startsWith(day)) return undefined;
  const at = Date.parse(`${day}T${time}${zone}`);
  return Number.isNaN(at) ? undefined : at;
}

/** Reads a time strictly, for decisions: a time of day needs its zone. */
export function parseExactTime(text: string): number | undefined {
  return /^[\d-]+$|T.*(?:Z|[+-]\d\d:\d\d)$/.test(text) ? parseTime(text) : undefined;
}

/** A time as people and programs read it, in UTC. */
export function isoTime(at: number): string {
  return new Date(at).toISOString();
}

/** Reads a size as bytes; undefined: the text is no size. */
export function parseSize(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?) ?(B|kB|MB|GB|KiB|MiB|GiB)$/.exec(text);
  if (!match) return undefined;
  const bytes = Number(match[1]) * (unitOf(SIZE_BYTES, match[2] ?? '') ?? Number.NaN);
  return Number.isFinite(bytes) ? Math.round(bytes) : undefined;
}

/** Writes a duration in its one or two largest units: `2d 3h`, `15m`, `40s`, `250ms`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}ms`;
  const parts: string[] = [];
  let rest = Math.round(ms / 1_000) * 1_000;
  for (const unit of ['d', 'h', 'm', 's'] as const) {
    const count = Math.floor(rest / DURATION_MS[unit]);
    rest -= count * DURATION_MS[unit];
    if (count > 0) parts.push(`${count}${unit}`);
    if (parts.length === 2) break;
  }
  return parts.join(' ');
}

/** Writes a size in the largest unit that keeps it at 1 or more: `12.3 MiB`. */
export function formatSize(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let [size, unit] = [bytes, 0];
  while (size >= 1_024 && unit < units.length - 1) {
    size /= 1_024;
    unit += 1;
  }
  return `${unit === 0 ? size : size.toFixed(1)} ${units[unit]}`;
}
