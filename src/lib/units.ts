/** Durations and sizes as people write them: `15m`, `1h30m`, `250ms`, `64MiB`. */

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

/** Milliseconds, or undefined when the text is no duration. A number without a unit is none. */
export function parseDuration(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(text)) return undefined;
  let total = 0;
  for (const part of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
    total += Number(part[1]) * (unitOf(DURATION_MS, part[2] ?? '') ?? Number.NaN);
  }
  return Number.isFinite(total) ? Math.round(total) : undefined;
}

/** Bytes, or undefined when the text is no size. */
export function parseSize(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?) ?(B|kB|MB|GB|KiB|MiB|GiB)$/.exec(text);
  if (!match) return undefined;
  const bytes = Number(match[1]) * (unitOf(SIZE_BYTES, match[2] ?? '') ?? Number.NaN);
  return Number.isFinite(bytes) ? Math.round(bytes) : undefined;
}

/** A duration in its one or two largest units: `2d 3h`, `15m`, `40s`, `250ms`. */
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

/** A size in the largest unit that keeps it at 1 or more: `12.3 MiB`. */
export function formatSize(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let [size, unit] = [bytes, 0];
  while (size >= 1_024 && unit < units.length - 1) {
    size /= 1_024;
    unit += 1;
  }
  return `${unit === 0 ? size : size.toFixed(1)} ${units[unit]}`;
}
