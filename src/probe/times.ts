/**
 * Finds the time zone of times that name none: compares the newest with the service's own clock.
 */
import type { PlainAnswer } from '../client/probe-client.ts';
import { type Row, textOf } from './answers.ts';
import type { Witness } from './findings.ts';

const setting = 'service.dialect.v1.timeZone';

const HALF_HOUR_MS = 1_800_000;
const MINUTE_MS = 60_000;
/** Minimum of times that must agree; fewer may all stem from one import. */
const AGREEING_MIN = 3;
/** Maximum age in milliseconds of an order whose time is compared with the clock. */
const FRESH_MS_MAX = 20 * MINUTE_MS;
/** Largest offset in milliseconds that a zone east of UTC has. */
const OFFSET_MS_MAX = 14 * 3_600_000;

const ZONED = /(?:[zZ]|[+-]\d\d:?\d\d|GMT)$/;
const LOCAL = /^(\d{4})[-/](\d\d)[-/](\d\d)[ T](\d\d):(\d\d)(?::(\d\d))?(?:\.\d+)?$/;

/** Likely time zone of an account by its currency, which hints at the country. */
const ZONES: Readonly<Record<string, string>> = {
  DKK: 'Europe/Copenhagen',
  SEK: 'Europe/Stockholm',
  NOK: 'Europe/Oslo',
  EUR: 'Europe/Berlin',
  GBP: 'Europe/London',
  CHF: 'Europe/Zurich',
  PLN: 'Europe/Warsaw',
  USD: 'America/New_York',
  JPY: 'Asia/Tokyo',
  KWD: 'Asia/Kuwait',
  AUD: 'Australia/Sydney',
};

/** Reads a time without a zone as if it were UTC, in epoch ms. */
function localMs(text: string): number | undefined {
  const parts = LOCAL.exec(text)
    ?.slice(1)
    .map((part) => Number(part ?? 0));
  if (!parts) return undefined;
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

/** Offset of a zone from UTC at this time, in milliseconds. */
function offsetOf(zone: string, at: number): number {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
  const name = format.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const [, sign = '+', hours = 0, minutes = 0] = /GMT([+-])(\d\d):(\d\d)/.exec(name) ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * MINUTE_MS;
}

function shown(offsetMs: number): string {
  const minutes = Math.abs(offsetMs) / MINUTE_MS;
  const hours = String(Math.floor(minutes / 60)).padStart(2, '0');
  return `${offsetMs < 0 ? '-' : '+'}${hours}:${String(minutes % 60).padStart(2, '0')}`;
}

/** Finds a zone that has this offset now; one that fits the account's currency comes first. */
function zoneFor(
  offsetMs: number,
  now: number,
  currencies: readonly string[],
): { readonly zone: string; readonly isGuess: boolean } | undefined {
  const likely = currencies.map((currency) => ZONES[currency]).filter((one) => one !== undefined);
  const fits = (zone: string): boolean => offsetOf(zone, now) === offsetMs;
  const own = likely.find(fits);
  if (own !== undefined) return { zone: own, isGuess: true };
  if (offsetMs === 0) return { zone: 'UTC', isGuess: false };
  const hours = offsetMs / (2 * HALF_HOUR_MS);
  // POSIX counts the other way round: Etc/GMT-2 is two hours ahead.
  if (Number.isInteger(hours)) {
    return { zone: `Etc/GMT${hours > 0 ? '-' : '+'}${Math.abs(hours)}`, isGuess: false };
  }
  const other = Object.values(ZONES).find(fits) ?? ['Asia/Kolkata', 'Asia/Tehran'].find(fits);
  return other === undefined ? undefined : { zone: other, isGuess: true };
}

function doubtOf(zone: string, offsetMs: number, isGuess: boolean): string {
  const offset = `the clocks of the account are at ${shown(offsetMs)} now`;
  return isGuess
    ? `${offset}, as those of ${zone} are: a zone that changes its clocks on other days is wrong ` +
        'for some weeks, and a fixed offset (such as Etc/GMT-2) for half of the year'
    : `${offset}: where they change in summer, name the zone, such as Europe/Copenhagen`;
}

export function probeTimes(
  witness: Witness,
  orders: readonly Row[],
  { clockOffsetMs }: PlainAnswer,
  nowMs: number,
  own: string,
  currencies: readonly string[],
): void {
  if (clockOffsetMs !== undefined && Math.abs(clockOffsetMs) > MINUTE_MS) {
    const seconds = Math.round(clockOffsetMs / 1000);
    const seen = `the service's clock (header Date) is ${seconds} s from ours`;
    const doubt = 'set the clock of this machine (timedatectl), or ask the service about its own';
    witness.found({ setting: undefined, value: 'clocks', seen, doubt });
  }
  const texts = orders.map(({ createdAt }) => textOf(createdAt)).filter((one) => one !== undefined);
  const locals = texts.flatMap((text) => localMs(text) ?? []);
  if (texts.length === 0) {
    if (orders.length > 0) witness.found({ setting, value: own, seen: 'orders bear no times' });
    return;
  }
  if (locals.length === 0) {
    const isZoned = texts.every((text) => ZONED.test(text));
    const doubt = isZoned ? undefined : `times such as ${texts[0]} are not understood`;
    witness.found({ setting, value: own, seen: `createdAt names its zone: ${texts[0]}`, doubt });
    return;
  }
  const serviceNow = nowMs + (clockOffsetMs ?? 0);
  const ahead = locals.map((at) => at - serviceNow).sort((a, b) => b - a);
  const [most = 0] = ahead;
  const offsetMs = Math.ceil(most / HALF_HOUR_MS - 0.02) * HALF_HOUR_MS;
  const agreeing = ahead.filter((one) => offsetMs - one <= FRESH_MS_MAX).length;
  const clock = `by the service's clock ${new Date(serviceNow).toISOString()}`;
  const seen = `createdAt without a zone (${texts[0]}), ${clock}`;
  const found = Math.abs(offsetMs) <= OFFSET_MS_MAX && zoneFor(offsetMs, serviceNow, currencies);
  if (agreeing >= AGREEING_MIN && found) {
    const doubt = doubtOf(found.zone, offsetMs, found.isGuess);
    witness.found({ setting, value: found.zone, seen: `${seen}; ${agreeing} agree`, doubt });
    return;
  }
  const least = most > 0 ? `; it is at least ${shown(offsetMs)}` : '';
  const doubt = `no ${AGREEING_MIN} orders are fresh enough to tell their zone by${least}`;
  const likely = currencies.map((currency) => ZONES[currency]).find((one) => one !== undefined);
  witness.found({ setting, value: likely ?? own, seen, doubt, isOff: true });
}
