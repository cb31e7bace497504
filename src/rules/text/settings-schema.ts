/**
 * The schema of `settings.yaml`. Unknown keys are refused; every key but `version` may be left out.
 */
import { z } from 'zod';
import { WEEKDAYS } from '../facts/table.ts';
import { count, duration, mode } from './timing.ts';

function isTimeZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

const name = z.string().regex(/^[a-z][a-z0-9_]*$/, 'a name is lower-case letters, digits and _');
const cells = z.union([z.string(), z.number(), z.boolean()]);

const timeOfDay = (example: string) => {
  const wanted = `write a time such as "${example}"`;
  return z.string(wanted).regex(/^([01]\d|2[0-3]):[0-5]\d$/, wanted);
};

const timeBreak = z
  .strictObject({ from: timeOfDay('12:00'), to: timeOfDay('12:30') })
  .refine(({ from, to }) => from < to, {
    message: 'a break must begin before it ends: "from" must be earlier than "to"',
    path: ['to'],
  });

const DAY_KEY = new RegExp(`^(${WEEKDAYS.join('|')}|\\d{4}-\\d{2}-\\d{2})$`);

const calendar = z
  .strictObject({
    days: z
      .array(z.enum(WEEKDAYS))
      .default(['monday', 'tuesday', 'wednesday', 'thursday', 'friday']),
    from: timeOfDay('08:00').default('08:00'),
    to: timeOfDay('16:30').default('16:30'),
    holidays: z.array(z.iso.date('write a date such as 2026-12-24')).default([]),
    breaks: z.array(timeBreak).default([]).describe('Of every working day, such as lunch.'),
    half_days: z
      .record(
        z.string().regex(DAY_KEY, 'write a weekday or a date such as 2026-12-23'),
        timeOfDay('12:00'),
      )
      .default({})
      .describe('When work ends on a weekday or a date, where that is earlier.'),
  })
  .refine(({ from, to }) => from < to, {
    message: 'work must begin before it ends: "from" must be earlier than "to"',
    path: ['to'],
  });

const rejectSafeguards = z.strictObject({
  max_per_hour: count.default(5),
  max_per_day: count.default(20).describe('In any 24 hours, as all limits of a day.'),
  max_per_customer_per_day: count.default(2),
  max_amount_per_day: z.number().positive().optional().describe('In each currency by itself.'),
  max_share_of_day: z
    .number()
    .positive()
    .max(100)
    .default(3)
    .describe('Percent of the deliveries that were decided in a day.'),
  share_floor: count.default(3).describe('So many a day are no question of their share.'),
  times_median: z
    .number()
    .min(1)
    .default(5)
    .describe('How many times the median day of the last 30 a day may have.'),
  median_floor: count.default(3).describe('So many a day are no question of the median.'),
  write_failures: count.default(3).describe('Pushes of a day that fail before the breaker trips.'),
  business_hours_only: z.boolean().default(true),
  matches_seen: z
    .int()
    .nonnegative()
    .default(5)
    .describe('Deliveries that a person has looked at before a rule can be armed.'),
});

const currencyCode = z.string().regex(/^[A-Z]{3}$/, 'a currency is three capital letters');

const acceptSafeguards = z.strictObject({
  freshness: z
    .strictObject({
      stock: duration.optional().describe('Default: streams.stock.freshness of the configuration.'),
      season: duration.optional().describe('Default: streams.season.freshness.'),
      styles: duration.optional().describe('Default: any while they are pulled.'),
      seasons: duration.optional().describe('Default: any while they are pulled.'),
      credit: duration.default('26h'),
      customers: duration
        .default('7d')
        .describe('Since the ERP last wrote any of its customers (erp_customer).'),
    })
    .prefault({})
    .describe('An accept by a rule that reads older data waits until the data is fresh.'),
  max_per_hour: count.default(5000).describe('Beyond it accepting pauses for all.'),
  max_per_day: count.optional().describe('In any 24 hours, as all limits of a day.'),
  max_per_customer_per_day: count.optional(),
  max_amount_per_day: z
    .record(currencyCode, z.number().positive())
    .optional()
    .describe('By currency; one that is not named has no limit.'),
  max_share_of_day: z
    .number()
    .positive()
    .max(100)
    .optional()
    .describe('Percent of the deliveries that were decided in a day.'),
  share_floor: count.default(20).describe('So many a day are no question of their share.'),
  refused_in_a_row: count
    .default(20)
    .describe('Pushes of accepts in a row that the service refused.'),
  pause: duration.default('1h').describe('How long accepts wait after either of these.'),
});

const safeguards = z.strictObject({
  reject: rejectSafeguards.prefault({}),
  accept: acceptSafeguards.prefault({}),
  revocation: z
    .strictObject({
      max_per_day: count
        .default(2)
        .describe('How often rules for accepted deliveries may revoke an accept in 24 hours.'),
      cooldown: duration
        .default('1h')
        .describe('How long a delivery is not accepted again after that.'),
    })
    .prefault({}),
  freshness: z
    .strictObject({
      mirror: duration.default('15m'),
      credit: duration.default('26h'),
      stock: duration.default('60m'),
    })
    .prefault({}),
});

const listSource = z.strictObject({
  from: z
    .string()
    .regex(/^erp_customer\.[a-z][a-z0-9_]*$/, 'write erp_customer.account_no or another text field')
    .describe('A column of the customers that the ERP sends.'),
  where: z
    .string()
    .regex(/^[a-z][a-z0-9_]*$/)
    .optional()
    .describe('A true/false column.'),
  sample: z.array(z.string()).default([]).describe('What the tests of the rules see.'),
});

const column = z.string().min(1);

/**
 * Pattern of a CSV file's name without a folder, so that all files of a rule set are in one folder.
 */
const CSV_NAME = /^[^/\\.][^/\\]*\.csv$/;

const tableFile = z.strictObject({
  file: z.string().regex(CSV_NAME, 'write the name of a CSV file beside settings.yaml'),
  keys: z.array(column).min(1).max(3).describe('The columns that a condition asks by, in order.'),
  value: column.describe('The column of the values.'),
  from: column.optional().describe('The column of the first day of a row.'),
  until: column.optional().describe('The column of the last day of a row.'),
});

export type TableFile = z.output<typeof tableFile>;

/** A row of a table as it was written; days are ISO dates. */
export interface TableRow {
  readonly line: number;
  readonly keys: readonly string[];
  readonly value: string | number | boolean;
  /** First day on which the row applies; undefined: from the beginning. */
  readonly from?: string | undefined;
  /** Last day on which the row applies; undefined: without end. */
  readonly until?: string | undefined;
}

export interface ReadTable {
  readonly spec: TableFile;
  readonly rows: readonly TableRow[];
}

const ZONE = 'write an IANA zone such as Europe/Copenhagen';

const seasonWindow = z
  .strictObject({
    season: z.string().min(1),
    delivery: z.string().min(1).optional().describe('Default: every other window of the season.'),
    from: z.iso.date('write a date such as 2026-12-24').describe('The first day.'),
    to: z.iso.date('write a date such as 2026-12-24').describe('The last day.'),
  })
  .refine(({ from, to }) => from <= to, {
    message: 'a window must begin before it ends: "from" must not be later than "to"',
    path: ['to'],
  });

export const SETTINGS_FILE = z.strictObject({
  version: z.literal(1),
  mode: mode.default('live').describe('The whole set is never stronger than this.'),
  defaults: z.strictObject({ mode: mode.default('shadow') }).prefault({}),
  timezone: z
    .string(ZONE)
    .refine((zone) => isTimeZone(zone), ZONE)
    .default('UTC'),
  calendar: calendar.prefault({}),
  lists: z.record(name, z.union([z.array(cells), listSource])).default({}),
  tables: z.record(name, z.union([tableFile, z.record(z.string(), cells)])).default({}),
  customer_fields: z
    .record(name, z.enum(['text', 'true/false', 'whole number', 'decimal']))
    .default({})
    .describe('Fields that the ERP adds to its customers, read as customer.extra.<name>.'),
  season_windows: z
    .array(seasonWindow)
    .default([])
    .describe('Read as line.window_from and line.window_to.'),
  base_currency: currencyCode
    .optional()
    .describe('Currency of delivery.amount_base, order.amount_base and today.amount_base.'),
  rates: z
    .record(currencyCode, z.number().positive())
    .default({})
    .describe('Value of 1 of each currency in the base currency.'),
  safeguards: safeguards.prefault({}),
});

export type SettingsFile = z.output<typeof SETTINGS_FILE>;

/** A list that is read from the database, by the names of its columns. */
export type ListSource = z.output<typeof listSource>;

/**
 * Settings in which every list has its values, whether written in the file or read from the
 * database.
 */
export type Settings = Omit<SettingsFile, 'lists' | 'tables'> & {
  readonly lists: Readonly<Record<string, readonly (string | number | boolean)[]>>;
  readonly tables: Readonly<Record<string, Readonly<Record<string, string | number | boolean>>>>;
  /** Tables that are CSV files, with their rows. */
  readonly table_files: Readonly<Record<string, ReadTable>>;
  readonly list_sources: Readonly<Record<string, ListSource>>;
};
