/** Programs of ours for which the system has no process. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { runBeside } from '../../src/lib/process/beside.ts';
import { makeInProcess } from '../../src/report/schedules/make-process.ts';
import { rejection } from '../client/support.ts';

const { signal } = new AbortController();

/** Has the file of the running program vanish, as an upgrade does for a moment. */
function withoutProgram(): void {
  const { execPath } = process;
  process.execPath = `${execPath}-gone`;
  onTestFinished(() => {
    process.execPath = execPath;
  });
}

const WAYS = {
  'a query': () =>
    runBeside(
      {
        ...{ program: new URL(import.meta.url), request: {} },
        ...{ timeMaxMs: 60_000, memoryBytesMax: 1_000_000, heapMibMax: 16 },
      },
      systemClock(),
      () => undefined,
    ),
  'a report': () =>
    makeInProcess(
      {
        order: {
          report: {
            file: 'x.sql',
            name: 'x',
            title: 'X',
            about: '',
            params: {},
            formats: {},
            columns: {},
            rates: {},
            isOwn: true,
            sql: '',
          },
          ...{ values: {}, manner: { locale: 'en', timeZone: 'UTC' }, rowsMax: 1, timeMaxMs: 1 },
          store: { path: 'x.db', busyTimeoutMs: 1 },
        },
        ...{ format: 'csv', target: null },
      },
      signal,
    ),
};

describe('a process that cannot be started', () => {
  it.each(Object.keys(WAYS))('fails %s, and ends nothing else', async (name) => {
    withoutProgram();
    const way = Object.entries(WAYS).find(([one]) => one === name)?.[1];
    expect(await rejection(way?.() ?? Promise.resolve())).toMatchObject({
      code: 'process.not_started',
      message: expect.stringContaining('ENOENT'),
    });
  });
});
