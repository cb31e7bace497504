/** Reports by the clock: a scheduler on a clock that is moved, its files, mails and audit. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Every } from '../../src/config/schema/reports.ts';
import { createReports } from '../../src/daemon/reports.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { atLocal } from '../../src/lib/local-time.ts';
import { createLogger } from '../../src/lib/log.ts';
import { createScrubber, Secret } from '../../src/lib/secret.ts';
import { lastDue, nextDue } from '../../src/report/schedules/due.ts';
import { openStore, type SqliteStore } from '../../src/store/store.ts';
import { selvedge } from '../cli/support.ts';
import { configOf } from '../config/config-of.ts';
import { startMailSink } from '../support/mail-sink.ts';
import { placeDatabase, temporaryFolder } from '../support/store.ts';

const ZONE = 'Europe/Copenhagen';
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const MINUTE = 60_000;
/** Time between two looks. */
const LOOK = 30_000;
/** Sunday, 10:00 in Copenhagen. */
const START = Date.UTC(2026, 0, 4, 9);

interface Scheduled {
  readonly store: SqliteStore;
  readonly folder: string;
  readonly reports: string;
  readonly log: readonly string[];
  /** Lets time pass until a look has ended. */
  later(ms: number): Promise<void>;
  /** Ends the worker, lets time pass, and starts another one. */
  restart(ms: number): Promise<void>;
  files(): string[];
  audit(): Promise<{ action: string; detail: unknown }[]>;
}

const book = (more: object = {}) => ({
  name: 'book',
  report: 'tiny',
  every: 'Mon 07:00',
  format: 'csv',
  ...more,
});

async function startSchedule(make: (folder: string) => readonly object[]): Promise<Scheduled> {
  const clock = manualClock(START);
  const folder = temporaryFolder();
  const [reports, out] = [join(folder, 'reports'), join(folder, 'out')];
  for (const one of [reports, out]) mkdirSync(one);
  writeFileSync(
    join(reports, 'tiny.sql'),
    '/*\ntitle: Tiny\nparams: { n: { type: number, about: n, default: 1 } }\n*/ SELECT :n AS n',
  );
  const path = join(folder, 'mirror.db');
  placeDatabase(path);
  const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, clock);
  const config = configOf([
    { path: 'service.v1.baseUrl', value: 'http://127.0.0.1:9/api/v1' },
    { path: 'service.v1.apiKey', value: new Secret('key', 'canary-key-canary') },
    { path: 'dataDir', value: folder },
    { path: 'reports.directory', value: reports },
    { path: 'reports.schedules', value: make(out) },
  ]);
  const log: string[] = [];
  const logger = createLogger({
    level: 'trace',
    format: 'json',
    scrubber: createScrubber(),
    write: (line) => log.push(line),
  });
  let sleeping = Promise.withResolvers<void>();
  const watched = {
    ...clock,
    sleep(ms: number, signal?: AbortSignal) {
      sleeping.resolve();
      return clock.sleep(ms, signal);
    },
  };
  const deps = { store, clock: watched, log: logger, scrubber: createScrubber() };
  const begin = () => {
    const stop = new AbortController();
    const worker = createReports(config, { ...deps, timeZone: () => ZONE });
    return { stop, done: worker.run(stop.signal) };
  };
  const look = async (work: () => unknown): Promise<void> => {
    sleeping = Promise.withResolvers();
    await work();
    await sleeping.promise;
  };
  let running = begin();
  await sleeping.promise;
  const end = async () => {
    running.stop.abort();
    await running.done;
  };
  onTestFinished(async () => {
    await end();
    await store.close();
  });
  return {
    ...{ store, folder: out, reports, log },
    async later(ms) {
      clock.step(ms - LOOK);
      await look(() => clock.advance(LOOK));
    },
    async restart(ms) {
      await end();
      clock.step(ms);
      await look(() => {
        running = begin();
      });
    },
    files: () => readdirSync(out).sort(),
    async audit() {
      const rows = await store.db.selectFrom('audit').select(['action', 'detail']).execute();
      return rows.map(({ action, detail }) => ({ action, detail: JSON.parse(detail) }));
    },
  };
}

describe('a schedule', () => {
  const every = (weekdays: readonly number[], time: string): Every => ({
    text: '',
    weekdays,
    time,
  });

  it('is due by the clock on the wall, also where the hour changes', () => {
    const zone = 'Europe/Berlin';
    const monday = every([1], '07:00');
    const at = (text: string) => Date.parse(text);
    const iso = (ms: number) => new Date(ms).toISOString();
    expect(iso(lastDue(monday, zone, at('2026-03-30T06:00Z')))).toBe('2026-03-30T05:00:00.000Z');
    expect(iso(lastDue(monday, zone, at('2026-03-30T04:59Z')))).toBe('2026-03-23T06:00:00.000Z');
    expect(iso(nextDue(monday, zone, at('2026-03-24T00:00Z')))).toBe('2026-03-30T05:00:00.000Z');
    expect(iso(nextDue(every([], '06:30'), zone, at('2026-01-01T06:00Z')))).toBe(
      '2026-02-01T05:30:00.000Z',
    );
    // 02:30 is skipped in spring, and there twice in autumn.
    expect(iso(atLocal(zone, '2026-03-29', '02:30'))).toBe('2026-03-29T01:30:00.000Z');
    expect(iso(atLocal(zone, '2026-10-25', '02:30'))).toBe('2026-10-25T00:30:00.000Z');
  });

  it('makes a file a week, keeps the newest, and tells of each in the audit', async () => {
    const it = await startSchedule((path) => [book({ to: { folder: { path, keep: 2 } } })]);
    expect(it.files()).toEqual([]);
    writeFileSync(join(it.folder, 'book-of-mine.csv'), '');
    await it.later(22 * HOUR);
    expect(it.files()).toEqual(['book-2026-01-05.csv', 'book-of-mine.csv']);
    expect(readFileSync(join(it.folder, 'book-2026-01-05.csv'), 'utf8')).toBe('n\n1\n');
    await it.later(7 * DAY);
    await it.later(7 * DAY);
    expect(it.files()).toEqual(['book-2026-01-12.csv', 'book-2026-01-19.csv', 'book-of-mine.csv']);
    const audit = await it.audit();
    expect(audit.map(({ action }) => action)).toEqual(Array(3).fill('report.deliver'));
    expect(audit[0]?.detail).toMatchObject({ report: 'tiny', rows: 1, attempts: 1 });
    expect(it.log.filter((line) => line.includes('report delivered'))).toHaveLength(3);
  });

  it('makes up for what was missed while the daemon was down, once', async () => {
    const it = await startSchedule((path) => [book({ to: { folder: { path, keep: 9 } } })]);
    await it.restart(30 * DAY);
    expect(it.files()).toEqual(['book-2026-02-02.csv']);
    await it.restart(HOUR);
    expect(await it.audit()).toHaveLength(1);
  });

  it('tries again ever later, gives up, tells of it, and is well at the next time', async () => {
    const it = await startSchedule((path) => [book({ to: { folder: { path, keep: 9 } } })]);
    rmSync(it.folder, { recursive: true });
    await it.later(21 * HOUR);
    const incidents = async () => {
      const rows = it.store.db.selectFrom('incident').select(['kind', 'key', 'resolved_at']);
      return (await rows.execute()).map(({ kind, key, resolved_at }) => [kind, key, !!resolved_at]);
    };
    expect(await incidents()).toEqual([['report_failed', 'book', false]]);
    expect(await it.audit()).toEqual([]);
    const config = join(dirname(it.folder), 'selvedge.yaml');
    const to = `{ folder: { path: ${it.folder}, keep: 9 } }`;
    const account = 'service: { v1: { baseUrl: http://127.0.0.1:9/v1, apiKey: { env: KEY } } }';
    const schedule = `{ name: book, report: tiny, every: Mon 07:00, format: csv, to: ${to} }`;
    const reports = `reports: { directory: ${it.reports}, schedules: [${schedule}] }`;
    const zone = `console: { timeZone: ${ZONE} }`;
    writeFileSync(config, `dataDir: ${dirname(it.folder)}\n${account}\n${reports}\n${zone}`);
    const list = () => selvedge(['report', 'list', '--config', config], { KEY: 'key-4711' });
    expect((await list()).stdout).toMatch(
      /^book +tiny +Mon 07:00 +csv +\S+ +2026-01-05T06:\S+ +failed: cannot write .* 2026-01-05T/m,
    );
    for (const ms of [MINUTE, 10 * MINUTE, HOUR]) await it.later(ms + MINUTE);
    expect(await it.audit()).toMatchObject([
      { action: 'report.give_up', detail: { attempts: 4, says: expect.stringContaining('book-') } },
    ]);
    expect((await list()).stdout).toContain('failed, given up until it is due again');
    const status = await selvedge(['status', '--config', config], { KEY: 'key-4711' });
    expect(status.stdout).toMatch(/incidents +1 open/);
    mkdirSync(it.folder);
    await it.later(DAY);
    expect(it.files()).toEqual([]);
    await it.later(6 * DAY);
    expect(it.files()).toEqual(['book-2026-01-12.csv']);
    expect(await incidents()).toEqual([['report_failed', 'book', true]]);
    expect((await list()).stdout).toMatch(/^book .* 1 rows, .*book-2026-01-12\.csv/m);
  });

  it('names the limit of a report that breaks it, and makes the others', async () => {
    const it = await startSchedule((path) => [
      book({ name: 'wrong', report: 'wide', to: { folder: { path, keep: 9 } } }),
      book({ params: { n: 7 }, to: { folder: { path, keep: 9 } } }),
    ]);
    const head = 'title: Wide\npivot: { rows: [a], column: i, value: v }';
    const numbers = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)';
    const sql = `/*\n${head}\n*/ ${numbers} SELECT 1 AS a, i, 1 AS v FROM n`;
    writeFileSync(join(it.reports, 'wide.sql'), sql);
    await it.later(21 * HOUR);
    expect(it.files()).toEqual(['book-2026-01-05.csv']);
    expect(readFileSync(join(it.folder, 'book-2026-01-05.csv'), 'utf8')).toBe('n\n7\n');
    const told = it.log.find((line) => line.includes('report failed and is tried again'));
    expect(told).toContain('wide.sql: i would make 300 columns (200 at most)');
  });

  it('is not tried again before it is due where its mail is too large, and says so', async () => {
    const sink = await startMailSink();
    sink.answerMails('552 5.3.4 Message size exceeds fixed limit');
    const people = { from: 'selvedge@example.com', to: ['anna@example.com'] };
    const server = { host: '127.0.0.1', port: sink.port, tls: 'none' };
    const it = await startSchedule(() => [book({ to: { smtp: { ...server, ...people } } })]);
    await it.later(21 * HOUR);
    await it.later(2 * HOUR);
    expect(sink.mails).toHaveLength(1);
    expect(await it.audit()).toMatchObject([
      {
        action: 'report.give_up',
        detail: { says: expect.stringMatching(/takes no message of .* it is not tried again/) },
      },
    ]);
  });

  it('goes by mail with the file attached', async () => {
    const sink = await startMailSink();
    const login = { user: 'selvedge', password: new Secret('mail', 'canary-mail-password') };
    const people = { from: 'selvedge@example.com', to: ['anna@example.com', 'bo@example.com'] };
    const server = { host: '127.0.0.1', port: sink.port, tls: 'none' };
    const it = await startSchedule(() => [
      book({ format: 'xlsx', to: { smtp: { ...server, ...login, ...people } } }),
    ]);
    await it.later(21 * HOUR);
    const [mail] = sink.mails;
    expect(mail?.to).toEqual(['anna@example.com', 'bo@example.com']);
    expect(mail?.data).toMatch(/^Subject: \[selvedge main\] Tiny 2026-01-05$/m);
    expect(mail?.data).toMatch(/filename=book-2026-01-05\.xlsx/);
    // The beginning of a workbook, which is a ZIP, as base64.
    expect(mail?.data).toMatch(/^UEsDB/m);
    expect(sink.logins).toEqual(['\0selvedge\0canary-mail-password']);
    expect(JSON.stringify([await it.audit(), it.log])).not.toContain('canary-mail-password');
    expect(existsSync(join(it.folder, 'book-2026-01-05.xlsx'))).toBe(false);
  });
});
