/** A reject rule goes its whole way, on a stepped clock, against the reference service. */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { openDaemon } from '../../src/daemon/daemon.ts';
import { type ManualClock, manualClock } from '../../src/lib/clock.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createScrubber } from '../../src/lib/secret.ts';
import { localFile } from '../../src/local-api/ask.ts';
import { parseKnobs } from '../../src/reference/control/knob-store.ts';
import { type Reference, startReference } from '../../src/reference/reference.ts';
import { selvedge } from '../cli/support.ts';
import { testConfig, testLogger, without } from '../support/house.ts';
import { temporaryFolder } from '../support/store.ts';
import { placeOrders } from './support.ts';

const RULES = `
rules:
  - id: reject-unwanted
    title: Nobody wants these countries
    action: reject
    mode: live
    when: [ order.country in lists.unwanted ]
    unless: [ order.preorder ]
    reject: { grace: 24h }
    tests:
      - { name: to Denmark, expect: reject }
      - { name: to the moon, given: { order: { country: XX } }, expect: none }
      - { name: ordered ahead, given: { order: { preorder: true } }, expect: none }
`;

function settings(unwanted: readonly string[]): string {
  const reject = { matches_seen: 1, max_share_of_day: 100 };
  return stringify({ version: 1, lists: { unwanted }, safeguards: { reject } });
}

const COUNTRIES = ['DK', 'SE', 'NO', 'DE', 'NL', 'FR', 'GB', 'FI', 'ES', 'IT', 'BE', 'US', 'AT'];
/** A Monday at ten. */
const STARTS_AT = Date.UTC(2026, 10, 23, 10);

async function startSide(clock: ManualClock): Promise<Reference> {
  const reference = await startReference({
    host: '127.0.0.1',
    ports: { service: 0, relay: 0, control: 0 },
    knobs: parseKnobs({
      auth: { loginSpacing: 0 },
      rates: { perSecond: 0 },
      world: { styles: 4, orders: 0 },
      life: { ordersPerMinute: 0, packAfter: '1s', shipAfter: '30d', cancelShare: 0 },
    }),
    ...{ clock, log: testLogger() },
  });
  onTestFinished(() => reference.close());
  return reference;
}

async function createWay() {
  const clock = manualClock(STARTS_AT);
  const reference = await startSide(clock);
  const folder = temporaryFolder();
  const config = testConfig(reference, {
    ...{ folder, rules: RULES },
    overrides: [without('ordersFull')],
  });
  const write = (text: string) => writeFileSync(join(folder, 'rules', 'settings.yaml'), text);
  write(settings(COUNTRIES));
  const file = join(folder, 'selvedge.yaml');
  const { dataDir } = config;
  const v1 = { baseUrl: reference.v1Url, apiKey: { env: 'KEY' } };
  const rules = { directory: config.rules.directory };
  writeFileSync(file, stringify({ dataDir, rules, service: { v1 } }));
  /** Time goes on in small steps, with turns for the network, until something is so. */
  async function until<T>(what: string, look: () => Promise<T | undefined> | T | undefined) {
    for (let step = 0; step < 3_000; step += 1) {
      const found = await look();
      if (found !== undefined) return found;
      await clock.advance(100);
      await wait(2);
    }
    throw new Error(`waited in vain for: ${what}`);
  }
  async function start() {
    const parts = { clock, random: systemRandom(), scrubber: createScrubber() };
    const daemon = await openDaemon(config, { ...parts, log: testLogger() });
    const stop = new AbortController();
    rmSync(localFile(dataDir), { force: true });
    const done = daemon.run(stop.signal);
    const close = async () => {
      stop.abort();
      await done;
    };
    onTestFinished(close);
    await until('the local API', () => existsSync(localFile(dataDir)) || undefined);
    return { db: daemon.store.db, close };
  }
  const call = async (...args: readonly string[]) => {
    const run = await selvedge(['--config', file, ...args], { KEY: 'x' });
    expect(run, run.stderr).toMatchObject({ code: 0 });
    return run.stdout;
  };
  /** An order arrives, is packed, and the sweep finds it. */
  async function order() {
    placeOrders(reference, 1);
    await clock.advance(2_000);
    await call('sync', 'run', 'orders', '--no-follow');
  }
  return { clock, reference, write, until, start, call, order };
}

type Way = Awaited<ReturnType<typeof createWay>>;
type Running = Awaited<ReturnType<Way['start']>>;

function decisions({ db }: Running) {
  return db
    .selectFrom('decision')
    .select(['outcome', 'trigger', 'reason', 'order_delivery_id as id'])
    .orderBy('decision_id')
    .execute();
}

/** Watched, looked at, tried on the past, armed: the first delivery waits to be rejected. */
async function toTheQueue(way: Way, daemon: Running) {
  await way.order();
  const watched = await way.until('a decision', async () => (await decisions(daemon))[0]);
  expect(watched).toMatchObject({ outcome: 'hold', trigger: 'new' });
  await way.call('rules', 'matches', 'reject-unwanted', '--seen');
  const period = ['--since', '2026-01-01T00:00:00Z', '--until', '2027-01-01T00:00:00Z'];
  await way.call('rules', 'backtest', ...period, '--save');
  await way.call('rules', 'arm', 'reject-unwanted', '--reason', 'agreed');
  await way.until('the reject', async () =>
    (await decisions(daemon)).find(({ outcome }) => outcome === 'reject'),
  );
  const queue = JSON.parse(await way.call('rules', 'queue', '--json'));
  expect(queue.waiting).toMatchObject([{ ruleId: 'reject-unwanted', safeguard: null }]);
  expect(queue.waiting[0].dueAt - queue.waiting[0].queuedAt).toBe(24 * 3_600_000);
  return watched.id;
}

it('goes from watching to rejected, and stops when its list is edited', async () => {
  const way = await createWay();
  const first = await way.start();
  const id = await toTheQueue(way, first);
  const statusOf = (delivery: number) => way.reference.world.book.deliveries.get(delivery)?.status;
  expect(statusOf(id)).toBe('pending');

  // While the daemon is down nothing goes on, and nothing is lost: the grace is as long as it was.
  await first.close();
  await way.clock.advance(24 * 3_600_000);
  const now = way.clock.now();
  const second = await way.start();
  const entries = second.db.selectFrom('reject_entry').select(['state', 'due_at']);
  const waiting = await entries.executeTakeFirstOrThrow();
  expect(waiting).toMatchObject({ state: 'waiting' });
  expect(waiting.due_at - now).toBeGreaterThan(23 * 3_600_000);
  await second.db.updateTable('reject_entry').set({ due_at: now }).execute();
  await way.until('a fresh sweep', async () => {
    const orders = await second.db
      .selectFrom('stream_state')
      .select('complete_at')
      .where('stream', '=', 'orders')
      .executeTakeFirst();
    return (orders?.complete_at ?? 0) >= now || undefined;
  });
  await way.clock.advance(300_000);
  await way.until('the end', async () => {
    const entry = await second.db.selectFrom('reject_entry').select('state').executeTakeFirst();
    return entry?.state === 'rejected' || undefined;
  });
  expect(statusOf(id)).toBe('rejected');
  expect((await decisions(second)).at(-1)).toMatchObject({ outcome: 'reject', trigger: 'grace' });
  const push = await second.db.selectFrom('outbox').selectAll().executeTakeFirstOrThrow();
  expect(push).toMatchObject({ state: 'confirmed', attempts: 1 });

  // Another one waits when somebody edits the list that the rule reads.
  await way.order();
  await way.until('another reject that waits', async () => {
    const entries = await second.db.selectFrom('reject_entry').select('state').execute();
    return entries.some(({ state }) => state === 'waiting') || undefined;
  });
  way.write(settings(COUNTRIES.slice(1).concat('DK', 'PL')));
  expect(await way.call('rules', 'reload')).toContain('disarmed: reject-unwanted');
  await way.until('the withdrawal', async () => {
    const entries = await second.db.selectFrom('reject_entry').select('state').execute();
    return entries.some(({ state }) => state === 'withdrawn') || undefined;
  });
  expect((await decisions(second)).at(-1)).toMatchObject({ outcome: 'hold', trigger: 'rules' });
  expect(await way.call('rules', 'queue')).toMatch(/disarmed: reject-unwanted, since .*changed/);
  // The former text comes back, and the rule is not armed with it.
  way.write(settings(COUNTRIES));
  expect(await way.call('rules', 'reload')).not.toContain('disarmed');
  const { armed, disarmed } = JSON.parse(await way.call('rules', 'queue', '--json'));
  expect(armed).toEqual([]);
  expect(disarmed).toMatchObject([{ ruleId: 'reject-unwanted' }]);
  const audit = JSON.parse(await way.call('audit', 'list', '--since', '2026-01-01', '--json'));
  expect(audit.map(({ action }: { action: string }) => action)).toEqual([
    ...['rules.reload', 'rules.reload', 'rules.disarm', 'sync.run', 'rules.arm', 'rules.report'],
    ...['rules.seen', 'sync.run'],
  ]);
  const proof = JSON.parse(await way.call('decisions', 'verify', '--json'));
  expect(proof.chain).not.toHaveProperty('brokenAt');
  expect(proof.different).toEqual([]);
});
