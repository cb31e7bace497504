/** Formats numbers, amounts and times for people. */
import { type Html, html } from '../../lib/html.ts';
import { perLocale } from '../../lib/strings.ts';
import { formatDuration } from '../../lib/units.ts';

const wholes = perLocale((locale) => new Intl.NumberFormat(locale));
const decimals = perLocale((locale) => {
  const places = { minimumFractionDigits: 2, maximumFractionDigits: 4 };
  return new Intl.NumberFormat(locale, places);
});

export function whole(count: number | null): string {
  return count === null ? '?' : wholes().format(count);
}

/** An amount as the reader writes it, such as `2,356.92 EUR`; `?` where the value is not known. */
export function money(value: number | null, currency: string | null): string {
  const amount = value === null ? '?' : decimals().format(value);
  return currency === null ? amount : `${amount} ${currency}`;
}

/** Amount of a message, as rules and their decisions keep it: `48430.00 NOK`. */
const AMOUNT = /(?<![\w.,-])(\d+\.\d{2,4}) ([A-Z]{3})\b/g;

/** A message with its amounts as the reader writes them, like those beside it. */
export function message(text: string): string {
  return text.replaceAll(AMOUNT, (_all, amount: string, currency: string) =>
    money(Number(amount), currency),
  );
}

const times = perLocale((locale, timeZone) => {
  const day = { year: 'numeric', month: 'short', day: 'numeric' } as const;
  const clock = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const;
  return new Intl.DateTimeFormat(locale, { timeZone, ...day, ...clock, hourCycle: 'h23' });
});

/** A time element in the console's time zone; null: no time. */
export function time(at: number | null, timeZone: string): Html | null {
  if (at === null) return null;
  const iso = new Date(at).toISOString();
  return html`<time datetime="${iso}">${times(timeZone).format(at)}</time>`;
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
