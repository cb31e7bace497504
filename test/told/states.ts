/** Makes real each state in which something waits, on a database of its own and a stepped clock. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createAnswering } from '../../src/client/answering.ts';
import type { Config } from '../../src/config/schema.ts';
import { pulledStreams } from '../../src/config/streams.ts';
import { checkDatabase } from '../../src/daemon/doctor/database.ts';
import { tellAnswers } from '../../src/daemon/watch/answering.ts';
import { tellCauses } from '../../src/daemon/watch/causes.ts';
import { createStatusNote } from '../../src/daemon/watch/status-note.ts';
import { openRuleKeeper } from '../../src/decisions/rule-keeper.ts';
import { createCoverageWatch } from '../../src/inbox/event-coverage.ts';
import { createMeter } from '../../src/inbox/meter.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { quarantineRows } from '../../src/mirror/quarantine.ts';
import { writeDeliveries } from '../../src/mirror/sales-order.ts';
import { noteRulesActing } from '../../src/ops/rules-acting.ts';
import { createWatch } from '../../src/outbox/watch/watch.ts';
import { writePause } from '../../src/store/pauses.ts';
import { writeAccountHold } from '../../src/store/state.ts';
import { ACCEPT_COVERED, createDeciderFixture, loadedRules } from '../decisions/support.ts';
import { temporaryFolder } from '../support/store.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export async function makeWorld(base: Config) {
  const fixture = await createDeciderFixture();
  const { store, clock } = fixture;
  const log = silentLogger();
  const meter = createMeter(clock, log);
  const decide = (text: string, more: object = {}, settings?: string) => {
    const rules = loadedRules(text, settings);
    return fixture.decide({ rules: () => rules, freshness: { stock: HOUR_MS }, ...more });
  };
  return {
    ...fixture,
    config: { ...base, dataDir: dirname(store.path) },
    log,
    meter,
    decide,
    /** Decides, and again a while later: what waits is counted between two rounds. */
    async decideTwice(text: string, more: object = {}) {
      await decide(text, more);
      await clock.advance(5 * MINUTE_MS);
      await decide(text, more);
    },
    causes: () => {
      const pulled = Object.keys(pulledStreams(base));
      const { level } = base.service.dialect.v1;
      return tellCauses({ store, clock, log, timeZone: 'UTC', pulled, level });
    },
    coverage: (secrets: readonly { readonly name: string; readonly notAfter?: number }[] = []) =>
      createCoverageWatch({ store, clock, log, meter, secrets }),
    async watchPushes() {
      const limits = { alertAfterMs: HOUR_MS, refundAlertAfterMs: DAY_MS };
      const rest = { auditEveryMs: DAY_MS, reconcileAfterMs: DAY_MS };
      const watch = createWatch({ store, clock, log, limits: { ...limits, ...rest } });
      const stop = new AbortController();
      const done = watch.run(stop.signal);
      await clock.advance(0);
      stop.abort();
      await done;
    },
    async run(stream: string, outcome: 'partial' | 'complete', reason: string | null = null) {
      const run = { stream, cause: 'schedule', read_seq: 1, options: '{}', checkpoint: '{}' };
      const times = { started_at: clock.now(), ended_at: clock.now() };
      const row = await store.db
        .insertInto('sync_run')
        .values({ ...run, ...times, outcome, reason })
        .returning('run_id')
        .executeTakeFirstOrThrow();
      return row.run_id;
    },
  };
}

export type World = Awaited<ReturnType<typeof makeWorld>>;

const ACCEPT_ALL = `
rules:
  - { id: all, title: All, action: accept, mode: live, when: [ delivery.quantity > 0 ] }
`;

function acceptIf(condition: string): string {
  return ACCEPT_ALL.replace('delivery.quantity > 0', `'${condition}'`);
}

async function ofCustomer(world: World): Promise<void> {
  await world.order(1, { shippingAddress: { accountNo: 'C-1' } });
  await world.delivery({ id: 7 });
}

const ACTING = { mode: 'live', valid: true, set: 'live', rules: 2, live: 2 } as const;

/** Each makes its state; the page docs/operating/waiting.md has a row for each. */
export const STATES: Readonly<Record<string, (world: World) => Promise<unknown>>> = {
  async 'first pull'(world) {
    await world.delivery({ id: 7 });
    await world.decideTwice(ACCEPT_COVERED);
  },
  async 'old stream'(world) {
    await world.stock({ a: 100 });
    await world.clock.advance(2 * HOUR_MS);
    await world.delivery({ id: 7 });
    await world.decideTwice(ACCEPT_COVERED);
  },
  async 'stream off'(world) {
    await world.stock({ a: 100 });
    await world.clock.advance(2 * HOUR_MS);
    await world.delivery({ id: 7 });
    await world.decideTwice(ACCEPT_COVERED, { freshness: {} });
  },
  async 'customers not renewed'(world) {
    await world.customer();
    await world.clock.advance(9 * DAY_MS);
    await ofCustomer(world);
    await world.decideTwice(acceptIf('customer.blocked == false'));
  },
  async 'credit too old'(world) {
    await world.customer({ asOf: world.clock.now() - 2 * DAY_MS });
    await ofCustomer(world);
    await world.decideTwice(acceptIf('customer.credit.headroom > 0'));
  },
  async 'only observing'(world) {
    await world.delivery({ id: 7 });
    await world.decide(ACCEPT_ALL, { mode: 'observe' });
    await noteRulesActing(world.store.db, { ...ACTING, mode: 'observe' }, world.clock);
  },
  async 'rules with mistakes'(world) {
    const directory = temporaryFolder();
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, 'rules.yaml'), 'rules: [{ id: 1 }]');
    await openRuleKeeper({ ...world, directory });
    await noteRulesActing(world.store.db, { ...ACTING, valid: false }, world.clock);
  },
  async 'accepting pauses'(world) {
    const settings = 'version: 1\nsafeguards: { accept: { max_per_hour: 1 } }\n';
    for (const id of [1, 2, 3]) await world.delivery({ id });
    await world.decide(ACCEPT_ALL, {}, settings);
  },
  async 'hold expired'(world) {
    const hold = 'hold: { at_most: 1h, then: escalate }, when: [ delivery.quantity > 0 ]';
    const rule = ACCEPT_ALL.replace('action: accept', 'action: hold');
    await world.delivery({ id: 7 });
    const text = rule.replace('when: [ delivery.quantity > 0 ]', hold);
    await world.decide(text);
    await world.clock.advance(2 * HOUR_MS);
    await world.decide(text);
  },
  async 'no rule'(world) {
    await world.delivery({ id: 7 });
    await world.decide(acceptIf('delivery.quantity > 1000'));
    await world.clock.advance(6 * DAY_MS);
    await world.decide(acceptIf('delivery.quantity > 1000'));
  },
  async 'unknown status'(world) {
    await world.delivery({ id: 7, status: 'parked' });
    await world.causes();
  },
  async 'events refused'(world) {
    world.meter.committed({ accepted: 9, duplicates: 0, unknownType: 0 });
    for (let times = 0; times < 58; times += 1) world.meter.eventRefused('forged');
    await world.coverage().look();
  },
  async 'secret ends'(world) {
    const notAfter = world.clock.now() + 10 * DAY_MS;
    await world.coverage([{ name: 'listener.secrets[0]', notAfter }]).look();
  },
  async 'events missed'(world) {
    const watch = world.coverage();
    await world.run('orders', 'complete');
    await world.clock.advance(10 * MINUTE_MS);
    const source = `run:${await world.run('orders', 'complete')}`;
    for (const id of [7, 8]) {
      await world.order(id);
      const lines = { fulfilledLineItems: [{ barcode: 'a', fulfilledQuantity: 1, price: 1 }] };
      const record = { orderDeliveryId: id, orderId: id, status: 'pending', ...lines };
      const provenance = { source, readSeq: 9, at: world.clock.now() };
      await world.store.transaction((tx) => writeDeliveries(tx, [record], provenance));
    }
    await world.clock.advance(10 * MINUTE_MS);
    await watch.look();
  },
  async 'never complete'(world) {
    await world.complete('stock');
    for (const why of ['cut', 'shrank', 'cut', 'too many rows']) {
      await world.run('stock', 'partial', why);
    }
    await world.causes();
  },
  async 'log-in refused'(world) {
    let refused = 0;
    const limiter = {
      pace: () => ({ perSecond: 1, perSecondMax: 1, heldMs: 0 }),
      waiting: () => ({ push: 0, read: 0, pull: 0, person: 0 }),
    };
    const logins = () => ({ done: 0, refused, failed: 0 });
    const note = createStatusNote({ ...world, limiter, workers: () => [], logins });
    refused = 1;
    await note();
  },
  async 'service away'(world) {
    const answering = createAnswering(world);
    const heard = answering.asked();
    await world.clock.advance(MINUTE_MS);
    heard({ kind: 'nothing', why: 'the connection failed (ECONNREFUSED)' });
    const state = answering.state();
    const answers = () => (state ? [{ api: 'V1', host: '127.0.0.1:9', ...state } as const] : []);
    await tellAnswers({ ...world, answers });
  },
  async 'order to be read'(world) {
    const row = { order_id: 7, cause: 'event:e', due_at: 0, attempts: 3, last_error: 'busy' };
    await world.store.db
      .insertInto('refresh')
      .values({ ...row, requested_at: world.clock.now() })
      .execute();
    await world.clock.advance(HOUR_MS);
    await world.causes();
  },
  async 'rows in quarantine'(world) {
    const row = { raw: { barcode: 1 }, path: 'barcode', reason: 'not a text' };
    const provenance = { source: 'run:1', readSeq: 1, at: world.clock.now() };
    await world.store.transaction((tx) => quarantineRows(tx, 'stock_variant', [row], provenance));
    await world.causes();
  },
  async 'push late'(world) {
    await world.delivery({ id: 7 });
    await world.decide(ACCEPT_ALL);
    await world.clock.advance(2 * HOUR_MS);
    await world.watchPushes();
  },
  async 'push for a person'(world) {
    await world.delivery({ id: 7 });
    await world.decide(ACCEPT_ALL);
    const blocked_reason = 'two orders fit';
    await world.store.db.updateTable('outbox').set({ state: 'in_doubt', blocked_reason }).execute();
    await world.watchPushes();
  },
  async 'push given up'(world) {
    await world.delivery({ id: 7 });
    await world.decide(ACCEPT_ALL);
    const ended_at = world.clock.now();
    await world.store.db.updateTable('outbox').set({ state: 'dead', ended_at }).execute();
    await world.watchPushes();
  },
  async 'pause of pushes'(world) {
    const pause = { target: 'pushes', name: '', reason: 'prices', actor: 'anna', at: 0 } as const;
    await world.store.transaction((tx) => writePause(tx, pause));
  },
  async 'unknown account'(world) {
    await writeAccountHold(world.store.db, 'another account answers', world.clock);
  },
};

/** What the doctor says of the database, one text for each finding. */
export async function doctorOf({ config, clock }: World): Promise<string> {
  const found = await checkDatabase(config, clock.now());
  const odd = found.filter(({ grade }) => grade === 'warning' || grade === 'failed');
  return odd.map(({ check, text, advice }) => `${check}: ${text} → ${advice}`).join('\n');
}
