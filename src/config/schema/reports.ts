/** Settings of reports: the folder of one's own, their locale, and schedules. */

import { z } from 'zod';
import { knownLocale } from '../../lib/strings.ts';
import type { ContextFields } from './context.ts';
import { choice, onceSound, text, WRONG_KIND, whole } from './fields.ts';
import { smtpSection } from './notify.ts';

/** Formats in which a schedule can send a report or keep it as a file. */
const SCHEDULED_FORMATS = ['xlsx', 'html', 'csv', 'json', 'ndjson', 'svg'] as const;

/** Maximum of sizes in a person's own order of sizes. */
const SIZES_MAX = 1_000;
const SCHEDULES_MAX = 32;
const KEEP_MAX = 1_000;
const WEEKDAYS: readonly string[] = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** Time at which a schedule is due, by the local clock. */
export interface Every {
  /** Text of the schedule as it was written. */
  readonly text: string;
  /** Days of the week, Monday is 1; empty: the first day of each month. */
  readonly weekdays: readonly number[];
  /** Time of day, such as `07:00`. */
  readonly time: string;
}

const EVERY = /^(\S+) ((?:[01]\d|2[0-3]):[0-5]\d)$/;

function weekdaysOf(days: string): readonly number[] | undefined {
  if (days === 'day') return [1, 2, 3, 4, 5, 6, 7];
  if (days === 'weekday') return [1, 2, 3, 4, 5];
  if (days === 'month') return [];
  const found = days.split(',').map((day) => WEEKDAYS.indexOf(day) + 1);
  return found.includes(0) || new Set(found).size < found.length ? undefined : found;
}

function every() {
  return z
    .string()
    .transform((written, ctx): Every => {
      const [, days = '', time = ''] = EVERY.exec(written) ?? [];
      const weekdays = weekdaysOf(days);
      if (weekdays) return { text: written, weekdays, time };
      ctx.addIssue({ code: 'custom', message: WRONG_KIND });
      return z.NEVER;
    })
    .register(z.globalRegistry, {
      expected: 'days (day, weekday, month, or Mon,Thu) and a time, in quotes',
      example: '"Mon 07:00"',
    });
}

function locale() {
  return z
    .string()
    .refine((written) => knownLocale(written) !== undefined, { error: WRONG_KIND })
    .register(z.globalRegistry, { expected: 'a locale', example: 'de-DE' });
}

function target(fields: ContextFields) {
  const folder = z.strictObject({
    path: fields.path('/srv/reports'),
    keep: whole(1, KEEP_MAX),
  });
  return z
    .strictObject({
      folder: folder.optional(),
      smtp: smtpSection(fields, 'reports.schedules.to.smtp').optional(),
    })
    .superRefine(
      (to, ctx) => {
        if ((to.folder === undefined) !== (to.smtp === undefined)) return;
        ctx.addIssue({ code: 'custom', message: 'must have one of folder and smtp' });
      },
      onceSound('folder', 'smtp'),
    );
}

function schedule(fields: ContextFields) {
  return z.strictObject({
    name: text('a short name (a-z, 0-9, -)', 'monday-book', /^[a-z0-9][a-z0-9-]{0,31}$/),
    report: text('the name of a report', 'order-book', /^[a-z0-9][a-z0-9-]*$/),
    every: every(),
    format: choice(...SCHEDULED_FORMATS),
    params: z
      .record(z.string(), z.union([z.string(), z.number()]).transform(String))
      .register(z.globalRegistry, {
        expected: 'the parameters of the report, by name',
        example: '{ since: 7d }',
      })
      .optional(),
    locale: locale().nullish(),
    caFile: fields.certificates('/etc/ssl/certs/company.pem').nullish(),
    to: target(fields),
  });
}

export function reportsSection(fields: ContextFields) {
  return z.strictObject({
    directory: fields.path('/etc/selvedge/reports'),
    locale: locale().nullable(),
    sizeOrder: z
      .array(text('a size as the variants have it', 'S/M'))
      .max(SIZES_MAX)
      .register(z.globalRegistry, {
        expected: 'a list of sizes, each once',
        example: '[S/M, L/XL]',
      }),
    stockQuantity: choice('onHand', 'free'),
    seasonQuantity: choice('onHand', 'free'),
    schedules: z
      .array(schedule(fields))
      .max(SCHEDULES_MAX)
      .refine((list) => new Set(list.map(({ name }) => name)).size === list.length, {
        error: 'has the same name twice',
      })
      .register(z.globalRegistry, {
        expected: `a list of up to ${SCHEDULES_MAX} schedules`,
        example: '[{ name: monday-book, report: order-book, every: "Mon 07:00", … }]',
        secret: true,
      }),
  });
}
