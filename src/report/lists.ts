/** Lists of reports, and of the schedules by which they are made. */
import { z } from 'zod';
import type { Db } from '../store/store.ts';
import { list, onceForAnswer, pageOfAll, ROWS_MAX } from '../surface/lists.ts';
import { as, flag, type Naming, text, time, whole } from '../surface/members.ts';
import type { Reading, ReportsRead } from '../surface/reading.ts';
import { type Reports, readReports } from './report-file.ts';
import { OFFERS } from './report-head.ts';
import { nextDue } from './schedules/due.ts';
import { readSchedule } from './schedules/state.ts';

const schedule = {
  name: text('Schedule'),
  report: text('Report', { link: 'report' }),
  every: text('Every'),
  format: text('Format'),
  nextAt: time('Next', { about: 'Null: no such time is known' }).nullable(),
  retryAt: time('Tried again', { about: 'When a failed report is; null: it is not' }).nullable(),
  last: z
    .strictObject({
      at: time('Made'),
      isGood: flag('Good'),
      rows: whole('Rows').nullable(),
      says: as(z.string(), 'Says', 'text'),
    })
    .nullable(),
  lastAt: time('Last made').nullable(),
};
const scheduleSchema = z.strictObject(schedule);
export type ScheduleRow = z.output<typeof scheduleSchema>;

/** Schedules with their last results, which the database has; undefined: there is no database. */
export async function readSchedules(
  db: Db | undefined,
  { schedules }: ReportsRead,
  timeZone: string,
  now: number,
): Promise<ScheduleRow[]> {
  const rows: ScheduleRow[] = [];
  for (const { name, report, every, format } of schedules) {
    const state = db && (await readSchedule(db, name));
    const nextAt = nextDue(every, timeZone, now);
    rows.push({
      name,
      report,
      every: every.text,
      format,
      nextAt: Number.isFinite(nextAt) ? nextAt : null,
      retryAt: state?.last?.isGood === false ? state.retryAt : null,
      last: state?.last ?? null,
      lastAt: state?.last?.at ?? null,
    });
  }
  return rows;
}

async function reportsOfSchedules({ reports: { schedules: all } }: Naming) {
  return [...new Set(all.map(({ report }) => report))].sort();
}

export const schedules = list({
  name: 'report.schedules',
  operation: 'listSchedules',
  path: '/reports/all/schedules',
  title: 'By the clock',
  about: 'reports that are made by the clock, with their last results',
  examples: [['report schedules', 'when each is made next, and what became of the last one']],
  query: { report: text('Report', { values: reportsOfSchedules }).optional() },
  row: schedule,
  shown: [
    'name',
    'report',
    'every',
    'format',
    'nextAt',
    'lastAt',
    {
      title: 'Last result',
      text({ last, retryAt }) {
        if (!last) return 'not made yet';
        if (last.isGood) return `${last.rows} rows, ${last.says}`;
        const then = retryAt === null ? ', given up until it is due again' : '';
        return `failed${then}: ${last.says}`;
      },
      class: ({ last }) => (last?.isGood === false ? 'state s-overdue' : undefined),
    },
    'retryAt',
  ],
  empty:
    'No report is made by the clock. reports.schedules of the configuration sends one by mail ' +
    'or writes it into a folder.',
  sorts: ['name', 'report', 'nextAt', 'lastAt'],
  limit: ROWS_MAX,
  rowsAs: 'schedules',
  async read({ db, now, reports, timeZone }, { report }, page) {
    const all = await readSchedules(db, reports, await timeZone(), now);
    const rows = report === undefined ? all : all.filter((one) => one.report === report);
    return pageOfAll(rows, page, ({ name }) => name);
  },
  place: ({ name }) => name,
});

const parameter = z.strictObject({
  type: z.enum(['text', 'number', 'time']),
  about: z.string(),
  label: z.string().optional(),
  offers: z.enum(OFFERS).optional(),
  from: z.enum(['day', 'week']).optional(),
  choices: z.array(z.string()).readonly().optional(),
  default: z.string().optional(),
});

const row = {
  name: text('Report', { link: 'report' }),
  title: as(z.string(), 'Title', 'text'),
  about: as(z.string(), 'What it tells', 'text').nullable(),
  parameters: text('Parameters', { about: 'Names of its parameters' }),
  params: z.record(z.string(), parameter),
  schedules: z.array(scheduleSchema),
};
const rowSchema = z.strictObject(row);
export type ReportRow = z.output<typeof rowSchema>;

/** Reports of a folder and those that came along, and the files that are none. */
export async function readReportList(
  db: Db | undefined,
  of: ReportsRead,
  timeZone: string,
  now: number,
  { reports, wrong }: Reports = readReports(of.directory),
) {
  const planned = await readSchedules(db, of, timeZone, now);
  const rows = reports.map(
    ({ name, title, about, params }): ReportRow => ({
      name,
      title,
      about: about ?? null,
      parameters: Object.keys(params).join(' '),
      params,
      schedules: planned.filter(({ report }) => report === name),
    }),
  );
  return { rows, wrong };
}

export const reports = list({
  name: 'report.list',
  operation: 'listReports',
  path: '/reports',
  title: 'Reports',
  about: 'the reports there are',
  more:
    'Those that came along and those in the folder of the configuration (reports.directory),\n' +
    'and the schedules (reports.schedules) with their last results.',
  examples: [['report list', 'names, parameters and titles']],
  query: {},
  row,
  shown: [
    'name',
    'title',
    'about',
    {
      title: 'Asks for',
      text: ({ params }) =>
        Object.entries(params)
          .map(([name, { default: preset }]) => {
            if (preset === undefined) return name;
            return preset === '' ? `${name} (or all)` : `${name} (${preset})`;
          })
          .join(', '),
    },
  ],
  terminal: ['Report', 'Asks for', 'Title'],
  empty: 'There is no report.',
  sorts: ['name', 'title'],
  limit: ROWS_MAX,
  rowsAs: 'reports',
  beside: {
    wrong: z
      .array(z.strictObject({ name: z.string(), message: z.string() }))
      .meta({ description: 'Files that are no reports' }),
  },
  below: [schedules],
  async read(from, _query, page) {
    const { db, reports: of, timeZone, now } = from;
    const { rows } = await readReportList(db, of, await timeZone(), now, filesOf(from));
    return pageOfAll(rows, page, ({ name }) => name);
  },
  readBeside: async (from) => ({ wrong: wrongFiles(from) }),
  notes: async (from) => wrongFiles(from).map(({ message }) => `A file is no report: ${message}`),
  place: ({ name }) => name,
});

const filesOf = onceForAnswer(({ reports: { directory } }) => readReports(directory));

function wrongFiles(from: Reading) {
  return filesOf(from).wrong.map(({ name, error }) => ({ name, message: error.message }));
}

export const reportLists = [reports, schedules];
