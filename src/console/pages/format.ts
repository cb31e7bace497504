/** Formats numbers, amounts and times for people. */
import { type Html, html } from '../../lib/html.ts';
import { formatDuration } from '../../lib/units.ts';

const LOCALE = 'en-GB';
const WHOLE = new Intl.NumberFormat(LOCALE);
const DECIMAL = new Intl.NumberFormat(LOCALE, {
  minimumFractionDigits: 2,
  maximumFractionDigits: 4,
});

export function whole(count: number | null): string {
  return count === null ? '?' : WHOLE.format(count);
}

/** An amount such as `2,356.92 EUR`; `?` where the value is not known. */
export function money(value: number | null, currency: string | null): string {
  const amount = value === null ? '?' : DECIMAL.format(value);
  return currency === null ? amount : `${amount} ${currency}`;
}

const zones = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = zones.get(timeZone);
  if (known) return known;
  const made = new Intl.DateTimeFormat(LOCALE, {
    timeZone,
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  zones.set(timeZone, made);
  return made;
}

/** A time element in the console's time zone; null: no time. */
export function time(at: number | null, timeZone: string): Html | null {
  if (at === null) return null;
  const iso = new Date(at).toISOString();
  return html`<time datetime="${iso}">${formatOf(timeZone).format(at)}</time>`;
}

const STEPS = [1_000, 60_000, 3_600_000] as const;

/** A span of time in whole seconds, minutes or, from a day on, hours. */
export function span(ms: number): string {
  const [second, minute, hour] = STEPS;
  const short = ms < minute ? second : minute;
  const step = ms < 24 * hour ? short : hour;
  return formatDuration(Math.max(second, Math.round(ms / step) * step));
}

/** Words for who made a decision: the rules, somebody at the service, or a person's name. */
export function byWhom(actor: string | null): string {
  if (actor === null) return '';
  if (actor === 'daemon') return 'the rules';
  if (actor === 'external') return 'somebody at the service';
  return actor.replace(/^person:/, '');
}
