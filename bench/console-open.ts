/**
 * A whole daemon with its console and many held deliveries: what 20 open pages cost it, how soon
 * the page shows what somebody decided, and how late the timers of its main thread come while it
 * pulls the stock for the first time and people read the list.
 *
 * `node bench/console-open.ts [--held 10000] [--rows 1000000] [--pages 20] [--seconds 30]`
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { systemClock } from '../src/lib/clock.ts';
import { openStore } from '../src/store/store.ts';
import { askToPullStock } from './support/ask.ts';
import { fillHeldDeliveries, HOLD_ALL_RULES } from './support/held-deliveries.ts';
import { cell, report, table } from './support/results.ts';

const { values } = parseArgs({
  options: {
    held: { type: 'string', default: '10000' },
    rows: { type: 'string', default: '1000000' },
    pages: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '30' },
  },
});
const GOAL = { actionMs: 200, share: 0.02, mebibytes: 10, delayMs: 20 };
const PAGE_EVERY_MS = 2_000;
const REVIEW_EVERY_MS = 500;
const ACTIONS = 50;
const pageCount = Number(values.pages);
const support = (name: string): string => join(import.meta.dirname, 'support', name);

const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
mkdirSync(join(folder, 'rules'));
writeFileSync(join(folder, 'rules', 'rules.yaml'), HOLD_ALL_RULES);
const clock = systemClock();
const { store } = await openStore({ path: join(folder, 'mirror.db'), busyTimeoutMs: 5_000 }, clock);
await fillHeldDeliveries(store, clock, Number(values.held));
await store.close();

const source = fork(support('stock-source.ts'), [values.rows]);
const [{ v1Url, rows }] = await once(source, 'message');
const args = [support('pull-process.ts'), folder, v1Url, 'stream', '-', 'console'];
const daemon = fork(support('launched.mjs'), args);
const exit = once(daemon, 'exit');
const [{ consoleLink }] = await once(daemon, 'message');

async function asked(of: ChildProcess, message: object) {
  of.send(message);
  const [answer] = await once(of, 'message');
  return answer;
}

const { origin, searchParams } = new URL(consoleLink);
const signedIn = await fetch(`${origin}/sign-in/link`, {
  method: 'POST',
  body: new URLSearchParams({ key: searchParams.get('key') ?? '' }),
  headers: { origin },
  redirect: 'manual',
});
const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';

async function get(path: string): Promise<string> {
  const answer = await fetch(`${origin}${path}`, { headers: { cookie } });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.text();
}

/** A page that stays open asks what has changed, as its script does. */
async function staysOpen(stop: AbortSignal, at: number): Promise<void> {
  await sleep((PAGE_EVERY_MS * at) / pageCount);
  while (!stop.aborted) {
    await get('/changes.json');
    await sleep(PAGE_EVERY_MS, undefined, { signal: stop }).catch(() => undefined);
  }
}

/** Runs something while so many pages are open. */
async function withPages<T>(run: () => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const pages = Array.from({ length: pageCount }, (_, at) => staysOpen(stop.signal, at));
  const result = await run();
  stop.abort();
  await Promise.all(pages);
  return result;
}

/** Share of a core and resident size over some seconds in which nothing else goes on. */
async function quietSeconds() {
  await asked(daemon, { measure: true });
  await sleep(Number(values.seconds) * 1_000);
  const { soFar, residentMiB } = await asked(daemon, { read: true });
  return { share: soFar.cpuSeconds / soFar.seconds, residentMiB };
}

// The decider looks at all of them once after the start.
for (let busy = true; busy; ) busy = (await quietSeconds()).share > 0.1;
await get('/review');
const alone = await quietSeconds();
const beside = await withPages(quietSeconds);

const { rows: held } = JSON.parse(await get('/review.json?limit=100'));
const took: number[] = [];
for (const { orderDeliveryId: id, decisionId, contentHash } of held.slice(0, ACTIONS)) {
  const startedAt = performance.now();
  const answer = await fetch(`${origin}/deliveries/${id}/accept`, {
    method: 'POST',
    body: new URLSearchParams({
      ...{ decisionId: `${decisionId}`, contentHash, reason: 'measured', back: '/review' },
    }),
    headers: { cookie, origin },
  });
  const page = await answer.text();
  took.push(performance.now() - startedAt);
  const isDone = answer.ok && /is accepted|: accepted, decision/.test(page);
  if (!isDone) throw new Error(`${id}: ${answer.status}`);
}
took.sort((a, b) => a - b);
const actionMs = took[Math.floor(took.length * 0.95)] ?? Number.NaN;

const pulled = await withPages(async () => {
  await asked(daemon, { measure: true });
  const ended = once(daemon, 'message');
  let isPulling = true;
  const reviews: number[] = [];
  const reading = (async () => {
    while (isPulling) {
      const startedAt = performance.now();
      await get('/review');
      reviews.push(performance.now() - startedAt);
      await sleep(REVIEW_EVERY_MS);
    }
  })();
  await askToPullStock(folder);
  const [figures] = await ended;
  isPulling = false;
  await reading;
  if (figures.outcome !== 'complete' || figures.changed !== rows) throw new Error(figures.outcome);
  reviews.sort((a, b) => a - b);
  return { ...figures, reviewMs: reviews[reviews.length >> 1] ?? Number.NaN };
});
daemon.disconnect();
source.disconnect();
await exit;
rmSync(folder, { recursive: true });

const share = beside.share - alone.share;
const mebibytes = beside.residentMiB - alone.residentMiB;
const lines = [
  [`${pageCount} open pages, % of a core`, cell(share * 100, 2), cell(GOAL.share * 100, 0)],
  [`${pageCount} open pages, MiB`, cell(mebibytes, 1), cell(GOAL.mebibytes, 0)],
  ['accept to the page that shows it, p95 ms', cell(actionMs, 0), cell(GOAL.actionMs, 0)],
  ['loop during the pull, p99 ms', cell(pulled.delayP99Ms, 1), cell(GOAL.delayMs, 0)],
  ['`/review` during the pull, median ms', cell(pulled.reviewMs, 0), '-'],
  ['pull, s', cell(pulled.seconds, 1), '-'],
];
const intro = `${values.held} held deliveries, a first pull of ${rows} variants.`;
report('Console of a whole daemon', `${intro}\n\n${table(['', 'measured', 'goal'], lines)}`);
const isMet =
  share <= GOAL.share &&
  mebibytes <= GOAL.mebibytes &&
  actionMs <= GOAL.actionMs &&
  pulled.delayP99Ms <= GOAL.delayMs;
process.exitCode = isMet ? 0 : 1;
