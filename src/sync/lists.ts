/** Lists of streams and of their runs, for people and programs. */
import { z } from 'zod';
import { WORDS, wordFor } from '../config/words.ts';
import { formatDuration } from '../lib/units.ts';
import { absenceNotes, readAnswers } from '../store/answering.ts';
import type { Db } from '../store/store.ts';
import { RUN_OUTCOMES } from '../store/tables.ts';
import { list, pageOfAll } from '../surface/lists.ts';
import { as, duration, flag, oneOf, text, time, whole } from '../surface/members.ts';
import type { Reading } from '../surface/reading.ts';
import {
  findRuns,
  listStreams,
  readRunFigures,
  type StreamOverview,
  unknownStream,
} from './overview.ts';
import { describeSchedule } from './schedule.ts';

const stateClass = (outcome: string) => `state s-run-${outcome}`;

const stream = text(
  'Stream',
  { link: 'stream', about: 'Name of the stream', words: WORDS.stream },
  100,
);
const words = { words: WORDS.runOutcome, class: stateClass } as const;
const outcome = oneOf('Outcome', RUN_OUTCOMES, words);

const runRow = {
  runId: whole('Run', { link: 'run', csv: 'run' }, 1),
  stream,
  cause: text('Because of', { words: WORDS.runCause }),
  startedAt: time('Began'),
  endedAt: time('Ended').nullable(),
  outcome,
  pages: whole('Pages'),
  rows: whole('Rows'),
  changed: whole('Changed'),
  deleted: whole('Deleted'),
  held: whole('Held back', { about: 'Rows that it would delete, and that a person must release' }),
  quarantined: whole('Unreadable'),
  retries: whole('Asked again'),
  waits: whole('Waits'),
  waitMs: duration('Waited'),
  reason: text('Reason').nullable(),
  generation: whole('Read', { about: 'Grows with each read; a later one knows better' }),
  unchanged: whole('Unchanged'),
  drastic: whole('Drastic'),
  changes: text('Change guard', { about: '`open` waits for a person' }).nullable(),
  bytes: whole('Bytes'),
  resumes: whole('Resumed'),
};

export const runSchema = z.strictObject(runRow).meta({ id: 'Run' });

const count = z.record(z.string(), z.number());

const pullRow = {
  stream,
  paused: flag('Paused'),
  schedule: text('Schedule', { about: 'Cron, UTC; null: it is not pulled' }).nullable(),
  dueAt: time('Due', { csv: 'next_run' }),
  completeAt: time('Complete', { isAge: true }).nullable(),
  completeRows: whole('Rows', { csv: 'rows' }).nullable(),
  stale: flag('Stale'),
  lastRunId: whole('Last run', { link: 'run', csv: 'last_run' }, 1).nullable(),
  lastOutcome: as(z.enum(RUN_OUTCOMES), 'Last outcome', 'text', words).nullable(),
  lastError: text('Last error').nullable(),
  notAtLevel: text('Not at level').nullable(),
  scheduleText: text('Schedule (UTC)').nullable(),
  nextTimes: z.array(time('Next')),
  freshnessMs: duration('At most').nullable(),
  failures: whole('Failures'),
  figures: z.strictObject({
    outcomes: count.meta({ description: 'Of the last 50 runs' }),
    p50Ms: z.number().nullable(),
    p95Ms: z.number().nullable(),
    rowsPerSecond: z.number().nullable(),
  }),
  running: runSchema.nullable(),
};

const pullSchema = z.strictObject(pullRow).meta({ id: 'Pull' });
export type PullRow = z.output<typeof pullSchema>;

async function withFigures(db: Db, one: StreamOverview) {
  const [latest] = await findRuns(db, { stream: one.stream }, { limit: 1 });
  return {
    ...one,
    nextTimes: [...one.nextTimes],
    scheduleText: one.schedule === null ? null : describeSchedule(one.schedule),
    figures: await readRunFigures(db, one.stream),
    running: latest?.outcome === 'running' ? latest : null,
  };
}

function overviewsOf({ db, pulled, notAtLevel, dataDir, now }: Reading) {
  return listStreams(db, pulled, now, notAtLevel, dataDir);
}

/** Streams, each with the figures of its last runs, and the run that is under way. */
async function pullsOf(from: Reading): Promise<PullRow[]> {
  const rows: PullRow[] = [];
  for (const one of await overviewsOf(from)) rows.push(await withFigures(from.db, one));
  return rows;
}

/**
 * A stream with its figures.
 * @throws RefusedError `sync.unknown_stream`
 */
export async function pullOf(from: Reading, name: string): Promise<PullRow> {
  const all = await overviewsOf(from);
  const found = all.find((one) => one.stream === name);
  if (found) return withFigures(from.db, found);
  throw unknownStream(
    name,
    all.map((one) => one.stream),
  );
}

export const runs = list({
  name: 'sync.runs',
  operation: 'listRuns',
  path: '/pulls/{id}',
  title: 'Runs',
  about: 'runs of a stream, the latest first',
  examples: [['sync runs stock --outcome partial', 'those that were not whole']],
  args: ['stream'],
  thing: 'stream',
  query: { stream: stream.optional(), outcome: outcome.optional() },
  row: runRow,
  shown: [
    'runId',
    'stream',
    'startedAt',
    {
      title: 'Took',
      kind: 'duration',
      text: ({ startedAt, endedAt }) =>
        endedAt === null ? null : formatDuration(Math.max(0, endedAt - startedAt)),
    },
    'outcome',
    'rows',
    'changed',
    'deleted',
    'held',
    'reason',
  ],
  empty: 'No run fits.',
  pageParameter: 'before',
  limit: 50,
  async read(from, query, page) {
    if (query.stream !== undefined) await pullOf(from, query.stream);
    return findRuns(from.db, query, page);
  },
  place: ({ runId }) => String(runId),
  beside: { stream: z.array(pullSchema) },
  readBeside: async (from, { stream: name }) => ({
    stream: name === undefined ? [] : [await pullOf(from, name)],
  }),
});

export interface Quarantined {
  readonly entity: string;
  readonly rows: number;
  readonly newestAt: number;
}

/** Rows that could not be read, by entity. */
export async function readQuarantined(db: Db): Promise<Quarantined[]> {
  const rows = await db
    .selectFrom('quarantine')
    .select((eb) => [
      'entity',
      eb.fn.countAll<number>().as('rows'),
      eb.fn.max('last_seen_at').as('newestAt'),
    ])
    .groupBy('entity')
    .orderBy('entity')
    .execute();
  return rows.map(({ entity, rows: count, newestAt }) => ({
    entity,
    rows: Number(count),
    newestAt,
  }));
}

/** Outcomes of a stream's last runs, the most frequent first. */
export function outcomesText({ figures: { outcomes } }: PullRow): string {
  const counted = Object.entries(outcomes).sort(([, a], [, b]) => b - a);
  return (
    counted.map(([one, times]) => `${times} ${wordFor('runOutcome', one)}`).join(', ') || 'none yet'
  );
}

/** State of a stream in words; a reason why it stands still comes first. */
export function stateText(row: PullRow, now: number): string {
  const { notAtLevel, schedule, paused, running, stale, dueAt } = row;
  if (notAtLevel !== null) return `not at level ${notAtLevel} of the account`;
  if (schedule === null) return 'switched off';
  if (paused) return 'paused';
  if (running) return 'being pulled now';
  const due = dueAt <= now ? 'due now' : `due in ${formatDuration(dueAt - now)}`;
  return stale ? `too old, ${due}` : due;
}

export const streams = list({
  name: 'sync.list',
  operation: 'listPulls',
  path: '/pulls',
  title: 'Pulls',
  about: 'all streams with their schedules and figures',
  more: 'When each stream was last complete, when it runs next, and what is wrong.',
  examples: [['sync list', 'for people']],
  query: {},
  row: pullRow,
  shown: [
    'stream',
    {
      title: 'State',
      text: stateText,
    },
    'completeAt',
    'freshnessMs',
    'completeRows',
    'scheduleText',
    'lastOutcome',
    {
      title: 'Last runs',
      text: outcomesText,
    },
    { title: 'Median', kind: 'duration', text: ({ figures }) => tookText(figures.p50Ms) },
    { title: 'p95', kind: 'duration', text: ({ figures }) => tookText(figures.p95Ms) },
    {
      title: 'Rows/s',
      kind: 'whole',
      text: ({ figures: { rowsPerSecond } }) =>
        rowsPerSecond === null ? null : rowsPerSecond.toFixed(rowsPerSecond < 10 ? 1 : 0),
    },
    'lastError',
  ],
  terminal: ['Stream', 'State', 'Complete', 'At most', 'Rows', 'Last outcome', 'Last error'],
  notes: async ({ db, now }) => absenceNotes(await readAnswers(db), now),
  sorts: ['stream', 'completeAt', 'completeRows', 'lastOutcome'],
  empty: 'Nothing was pulled yet: the first pulls begin when the daemon starts.',
  rowsAs: 'streams',
  beside: {
    quarantined: z.array(
      z.strictObject({ entity: z.string(), rows: z.int(), newestAt: time('Newest') }),
    ),
  },
  read: async (from, _query, page) => pageOfAll(await pullsOf(from), page, (one) => one.stream),
  readBeside: async ({ db }) => ({ quarantined: await readQuarantined(db) }),
  place: ({ stream: name }) => name,
});

function tookText(ms: number | null): string | null {
  return ms === null ? null : formatDuration(ms);
}

export const syncLists = [streams, runs];
