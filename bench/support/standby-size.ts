/**
 * A take-over at size: a mirror as large as a big brand's, and a record as long as its day. Tells
 * how fast the holder's record is sent, and of the machine that takes over its time, its memory,
 * and for how long it left the lease unrenewed.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { deflateSync } from 'node:zlib';
import type Database from 'better-sqlite3';
import { digestsOf } from '../../src/decisions/journal.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { EXIT } from '../../src/lib/errors.ts';
import { canonicalJson, sha256 } from '../../src/lib/json.ts';
import { beginFeed } from '../../src/standby/feed.ts';
import { createBackup } from '../../src/store/backup/create.ts';
import { openWriter } from '../../src/store/connection.ts';
import { openStore } from '../../src/store/store.ts';
import { withSession } from '../../test/standby/support.ts';
import { startCalmService } from './accepting.ts';
import { LAUNCHER, writeConfig } from './daemon-process.ts';
import { fillMirror } from './large-mirror.ts';
import { useOf } from './process-use.ts';
import { withRecord } from './standby-record.ts';
import { standbyLines } from './standby-sides.ts';

export interface SizeFigures {
  readonly mirrorMiB: number;
  /** Rows of the record. */
  readonly rows: number;
  readonly sentPerSecond: number;
  readonly takeOverSeconds: number;
  readonly peakMiB: number;
  /** The longest time for which the row of the lease did not move, once it was taken. */
  readonly unrenewedSeconds: number;
}

const BUSY = { busyTimeoutMs: 5_000 };
const LOOK_MS = 50;
const NUMBERS = 'with recursive n(i) as (select 1 union all select i + 1 from n where i <';
const FACTS = 'x'.repeat(400);

type Decision = Readonly<Record<string, unknown>> & {
  readonly decision_id: number;
  readonly reason: string;
  readonly shadow: string;
};

/** Chains the decisions from this one on, each with facts of its own. */
function chain(writer: Database.Database, from: number): void {
  const page = writer.prepare<[number], Decision>(
    'select * from decision where decision_id > ? order by decision_id limit 1000',
  );
  const before = writer.prepare<[number], string>(
    'select hash from decision where decision_id < ? order by decision_id desc limit 1',
  );
  const fact = writer.prepare('insert into fact_snapshot (digest, at, facts) values (?, 0, ?)');
  const set = writer.prepare(
    `update decision set facts_digest = ?, previous_hash = ?, hash = ?, evaluation = ?
     where decision_id = ?`,
  );
  const evaluation = JSON.stringify({ rules: [], live: { kind: 'accept' }, said: FACTS });
  const packed = deflateSync(evaluation);
  let previous = before.pluck().get(from + 1) ?? '0'.repeat(64);
  const [final] = writer
    .prepare<[], string>("select sql from sqlite_schema where name = 'decision_is_final'")
    .pluck()
    .all();
  writer.exec('drop trigger decision_is_final');
  writer.transaction(() => {
    let last = from;
    for (;;) {
      const rows = page.all(last);
      for (const {
        decision_id: id,
        hash: _,
        facts_digest: __,
        previous_hash: ___,
        ...row
      } of rows) {
        const facts = canonicalJson({ id, of: FACTS });
        const digest = sha256(facts);
        const texts = { ...row, facts_digest: digest, previous_hash: previous };
        const hash = sha256(canonicalJson({ ...texts, ...digestsOf({ ...row, evaluation }) }));
        fact.run(digest, deflateSync(facts));
        set.run(digest, previous, hash, packed, id);
        previous = hash;
        last = id;
      }
      if (rows.length < 1_000) return;
    }
  })();
  if (final !== undefined) writer.exec(final);
}

/** A day: events, orders with their attempts, decisions; `rows` of the record in all. */
function liveThroughDay(writer: Database.Database, rows: number): void {
  const part = Math.floor(rows / 10);
  const run = (text: string): void => {
    writer.transaction(() => writer.exec(text)).immediate();
  };
  const body = `{"type":"sales_order.delivery_created","data":"${'y'.repeat(1_000)}"}`;
  run(`${NUMBERS} ${3 * part}) insert into webhook_event (event_id, received_at, sent_at, type,
      order_id, body, secret_name, outcome)
    select 'msg-' || i, 1, 1, 'sales_order.delivery_created', i % 1000, cast('${body}' as blob),
      'main', 'refresh' from n`);
  run(`${NUMBERS} ${part}) insert into outbox (kind, ordering_key, reference, body, body_hash,
      state, due_at, created_at, cause)
    select 'order', 'day/' || i, 'DAY-' || i, '{"lines":"${'z'.repeat(400)}"}', 'h', 'queued', 0, 0,
      'intake:1' from n`);
  const day = "reference like 'DAY-%'";
  run(`insert into outbox_attempt (outbox_id, attempt, started_at)
    select outbox_id, 1, 1 from outbox where ${day}`);
  run(`update outbox set state = 'sending' where ${day}`);
  run(`update outbox_attempt set ended_at = 2, class = 'done' where ended_at is null`);
  run(`update outbox set state = 'confirmed', ended_at = 3, result = '{}' where ${day}`);
  const from = Number(writer.prepare('select max(decision_id) from decision').pluck().get());
  run(`insert into decision (order_delivery_id, order_id, at, trigger, actor, rule_set_hash,
      facts_digest, mode, outcome, reason, rules, shadow, said, matched, lapsed, evaluation,
      previous_hash, hash)
    select order_delivery_id, order_id, at, trigger, actor, rule_set_hash, '', mode, outcome,
      reason, rules, shadow, said, matched, lapsed, x'', '', 'day' || decision_id
    from decision order by decision_id desc limit ${part}`);
  chain(writer, from);
}

async function makeMirror(
  dataDir: string,
  size: { readonly variants: number; readonly orders: number },
): Promise<string> {
  const path = join(dataDir, 'mirror.db');
  mkdirSync(dataDir);
  const { store } = await openStore({ path, ...BUSY }, systemClock());
  await store.close();
  const writer = openWriter(path, BUSY);
  fillMirror(writer, { ...size, changes: size.variants, days: 100 });
  chain(writer, 0);
  writer.close();
  return path;
}

/** Records a day behind a backup; gives the seconds in which it was sent. */
async function recordDay(
  path: string,
  backups: string,
  url: string,
  rows: number,
): Promise<number> {
  const clock = systemClock();
  const { store } = await openStore({ path, ...BUSY }, clock);
  await beginFeed(store, clock, 'feed');
  await createBackup(
    {
      dataDir: join(path, '..'),
      exchangeFile: join(path, '..', 'exchange.db'),
      directory: backups,
      keep: 5,
      program: 'bench',
      ...BUSY,
    },
    clock,
  );
  const writer = openWriter(path, BUSY);
  liveThroughDay(writer, rows);
  writer.close();
  const seconds = await withRecord(
    { store, options: { path, ...BUSY }, clock },
    { url, account: 'main' },
    async (record) => {
      const from = performance.now();
      while (record.state().waiting > 0) await sleep(LOOK_MS);
      return (performance.now() - from) / 1_000;
    },
  );
  await store.close();
  return seconds;
}

/** Looks at the row of the lease; gives the longest time for which it did not move. */
async function watchLease(
  url: string,
  signal: AbortSignal,
  isTaken: () => boolean,
): Promise<number> {
  return withSession(url, async (session) => {
    let seen = '';
    let movedAt = performance.now();
    let longest = 0;
    while (!signal.aborted) {
      const [row] = await session.ask("select taking || ' ' || beat AS at from standby_lease");
      const now = performance.now();
      if (isTaken()) longest = Math.max(longest, now - movedAt);
      if (!isTaken() || row?.at !== seen) movedAt = now;
      seen = String(row?.at);
      await sleep(LOOK_MS);
    }
    return longest / 1_000;
  });
}

export async function measureSize(
  url: string,
  size: { readonly variants: number; readonly orders: number; readonly rows: number },
): Promise<SizeFigures> {
  const root = mkdtempSync(join(tmpdir(), 'selvedge-bench-'));
  const { reference, wish } = await startCalmService(10_000);
  const there = join(root, 'b');
  const backups = join(root, 'backups');
  mkdirSync(there);
  const store = `store: { backup: { directory: ${backups} } }`;
  const config = writeConfig(there, reference, {
    ...wish,
    more: [...standbyLines(there, url), store],
  });
  const path = await makeMirror(join(root, 'a'), size);
  const mirrorMiB = statSync(path).size / 2 ** 20;
  console.log(`a mirror of ${mirrorMiB.toFixed(0)} MiB`);
  const sentSeconds = await recordDay(path, backups, url, size.rows);
  const rows = await withSession(url, async (session) => {
    const [counted] = await session.ask('select count(*)::int AS rows from standby_record');
    return Number(counted?.rows);
  });
  console.log(`${rows} rows sent in ${sentSeconds.toFixed(1)} s`);
  const child = spawn(process.execPath, [LAUNCHER, 'standby', 'wait', '--config', config], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let takenAt: number | undefined;
  createInterface(child.stdout).on('line', (line) => {
    console.log(line);
    if (line.includes('this machine has taken the lease')) takenAt = performance.now();
  });
  const done = new AbortController();
  const watching = watchLease(url, done.signal, () => takenAt !== undefined);
  let peakMiB = 0;
  const exit = once(child, 'exit');
  const sampling = setInterval(() => {
    if (takenAt === undefined || child.exitCode !== null) return;
    const { residentMiB } = useOf(child.pid ?? 0);
    // A process that is ending has no memory any more.
    if (residentMiB > peakMiB) peakMiB = residentMiB;
  }, LOOK_MS);
  const [code] = await exit;
  const endedAt = performance.now();
  clearInterval(sampling);
  done.abort();
  const unrenewedSeconds = await watching;
  if (code !== EXIT.takenOver.code) throw new Error(`the standby ended with ${code}`);
  await reference.close();
  rmSync(root, { recursive: true, force: true });
  return {
    mirrorMiB,
    rows,
    sentPerSecond: rows / sentSeconds,
    takeOverSeconds: (endedAt - (takenAt ?? endedAt)) / 1_000,
    peakMiB,
    unrenewedSeconds,
  };
}
