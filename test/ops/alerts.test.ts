/** Alerts as they are written, asked of the numbers as they are scraped. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { createSupervisor, type Worker } from '../../src/daemon/supervisor.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { createMetrics, type Metrics } from '../../src/ops/metrics/metrics.ts';
import type { LiveReadings } from '../../src/ops/metrics/sources.ts';
import { repositoryRoot } from '../support/source.ts';

const MINUTE = 60_000;
const SCRAPE_MS = 30_000;

const rulesSchema = z.object({
  groups: z.tuple([
    z.object({
      rules: z.array(z.object({ alert: z.string(), expr: z.string(), for: z.string().optional() })),
    }),
  ]),
});

function minutes(text: string): number {
  return Number(/^(\d+)m$/.exec(text)?.[1]) * MINUTE;
}

/** `name == 1` or `increase(name[10m]) > 1`; for which of the scrapes of one series it is told. */
function toldAt(alert: string, scrapes: readonly ReadonlyMap<string, number>[]): boolean[] {
  const text = readFileSync(join(repositoryRoot, 'docs/operating/alerts.yaml'), 'utf8');
  const [{ rules }] = rulesSchema.parse(parse(text)).groups;
  const rule = rules.find((one) => one.alert === alert);
  const written = /^(?:(\w+) == (\d+)|increase\((\w+)\[(\w+)\]\) > (\d+))$/.exec(rule?.expr ?? '');
  const [, plain, equal, counter, range = '0m', above] = written ?? [];
  const values = scrapes.map((samples) => {
    const found = [...samples].filter(([name]) => name.split('{')[0] === (plain ?? counter));
    expect(found).toHaveLength(1);
    return found[0]?.[1] ?? Number.NaN;
  });
  const back = minutes(range) / SCRAPE_MS;
  const holds = values.map((value, at) =>
    plain === undefined
      ? value - (values[Math.max(0, at - back)] ?? 0) > Number(above)
      : value === Number(equal),
  );
  const needed = minutes(rule?.for ?? '0m') / SCRAPE_MS;
  return holds.map((_, at) => at >= needed && holds.slice(at - needed, at + 1).every(Boolean));
}

/** Figures that a daemon tells of itself at a scrape, besides what a test is about. */
function liveWith(more: Pick<LiveReadings, 'workers'> & Pick<LiveReadings, 'standby'>) {
  const inbox = { accepted: 0, duplicates: 0, unknownType: 0, failedCommits: 0 };
  const service = { requests: 0, retries: 0, waitMs: 0, bytesReceived: 0, active: 0 };
  return {
    inbox: { ...inbox, refused: {}, clockOffsetMs: undefined },
    service: {
      ...{ ...service, waiting: {}, logins: { done: 0, refused: 0, failed: 0 } },
      ...{ clockOffsetMs: undefined, perSecond: 20, dialects: {}, answered: [], answers: [] },
    },
    ...{ stuck: [], backup: undefined, plane: undefined },
    space: { freeBytes: 1, stopped: [] },
    files: { databaseBytes: 1, walBytes: 1, walPinnedMs: 0 },
    ...more,
  };
}

async function scrape(metrics: Pick<Metrics, 'text'>): Promise<ReadonlyMap<string, number>> {
  const lines = (await metrics.text()).split('\n').map((line) => line.split(' '));
  return new Map(lines.map(([name = '', value]) => [name, Number(value)]));
}

/** An hour of a worker that ends each of its runs so, scraped all the while. */
async function anHourOf(
  run: (nth: number, signal: AbortSignal) => Promise<void>,
  clock = manualClock(),
) {
  let runs = 0;
  const worker: Worker = {
    name: 'sync',
    run(signal) {
      runs += 1;
      return run(runs, signal);
    },
  };
  const deps = { clock, log: silentLogger(), stopMsMax: 0 };
  const supervisor = createSupervisor([worker], deps);
  const metrics = createMetrics({
    clock,
    build: { version: '1' },
    readDatabase: () => Promise.reject(new Error('not asked')),
    readLive: () => liveWith({ workers: supervisor.health() }),
  });
  const stop = new AbortController();
  const done = supervisor.run(stop.signal);
  const scrapes: ReadonlyMap<string, number>[] = [];
  for (let at = 0; at < 60 * MINUTE; at += SCRAPE_MS) {
    await clock.advance(SCRAPE_MS);
    scrapes.push(await scrape(metrics));
  }
  stop.abort();
  await done;
  return scrapes;
}

it('wake somebody for a worker that fails again and again, though it runs in between', async () => {
  for (const worksMs of [0, 1_000, 30_000, 90_000, 5 * MINUTE]) {
    const clock = manualClock();
    const scrapes = await anHourOf(async (_, signal) => {
      await clock.sleep(worksMs, signal);
      throw new Error('not now');
    }, clock);
    expect([worksMs, toldAt('SelvedgeWorkerFailing', scrapes).at(-1)]).toEqual([worksMs, true]);
  }
});

it('let sleep through a worker that has failed some times and works again', async () => {
  const clock = manualClock();
  const scrapes = await anHourOf(async (nth, signal) => {
    if (nth > 5) return clock.sleep(24 * 60 * MINUTE, signal);
    throw new Error('not now');
  }, clock);
  expect(toldAt('SelvedgeWorkerFailing', scrapes)).not.toContain(true);
});

it('let go on sleeping after a worker that has failed for long works again', async () => {
  const clock = manualClock();
  const scrapes = await anHourOf(async (nth, signal) => {
    await clock.sleep(nth > 20 ? 24 * 60 * MINUTE : 30_000, signal);
    throw new Error('not now');
  }, clock);
  const told = toldAt('SelvedgeWorkerFailing', scrapes);
  expect(told).toContain(true);
  expect(told.at(-1)).toBe(false);
});

type Standing = LiveReadings['standby'];

/** An hour of a holder, as it stands at each scrape. */
async function anHourAsHolder(standing: (minute: number) => Standing) {
  const clock = manualClock();
  const metrics = createMetrics({
    clock,
    build: { version: '1' },
    readDatabase: () => Promise.reject(new Error('not asked')),
    readLive: () => liveWith({ workers: [], standby: standing(clock.monotonic() / MINUTE) }),
  });
  const scrapes: ReadonlyMap<string, number>[] = [];
  for (let at = 0; at < 60 * MINUTE; at += SCRAPE_MS) {
    await clock.advance(SCRAPE_MS);
    scrapes.push(await scrape(metrics));
  }
  return scrapes;
}

it('wake somebody for a holder that sends nothing, or that nobody could replace', async () => {
  const well: Standing = { sends: true, waiting: 0, ready: 1 };
  const [sends, replaced] = ['SelvedgeSendsNothing', 'SelvedgeNobodyTakesOver'];
  // PostgreSQL restarts at the tenth minute, and is gone from the thirtieth to the fiftieth.
  const away = await anHourAsHolder((minute) => {
    const isAway = minute === 10 || (minute >= 30 && minute < 50);
    return isAway ? { sends: false, waiting: 7, ready: undefined } : well;
  });
  const told = toldAt(sends, away);
  expect([told.slice(0, 60).includes(true), told[70], told.at(-1)]).toEqual([false, true, false]);
  const alone = await anHourAsHolder((minute) => ({ ...well, ready: minute < 20 ? 1 : 0 }));
  expect(toldAt(replaced, alone).indexOf(true)).toBe(59);
  expect(toldAt(sends, alone)).not.toContain(true);
  // Without a standby there is no number of one, and no alert.
  const none = (await anHourAsHolder(() => undefined)).flatMap((one) => [...one.keys()]);
  expect(none.filter((name) => name.startsWith('selvedge_standby'))).toEqual([]);
});
