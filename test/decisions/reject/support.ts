/** A fixture with a reject rule, a person who arms it, and an executor on a stepped clock. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createRejectOperations } from '../../../src/decisions/reject/arm.ts';
import { createRejectExecutor, type RejectDeps } from '../../../src/decisions/reject/executor.ts';
import { unseenMatches } from '../../../src/decisions/reject/matches.ts';
import { rejectOverview } from '../../../src/decisions/review/overview.ts';
import { createReview } from '../../../src/decisions/review/review.ts';
import type { LoadedRuleSet } from '../../../src/decisions/rule-files.ts';
import { openRuleKeeper } from '../../../src/decisions/rule-keeper.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { guardClock } from '../../support/clock-guard.ts';
import { temporaryFolder } from '../../support/store.ts';
import { createDeciderFixture, type DeciderFixture, loadedRules } from '../support.ts';

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

/** Thirteen pieces of it are rejected, a few are accepted. */
export const UNLUCKY = `
rules:
  - id: reject-unlucky
    title: Thirteen pieces
    action: reject
    mode: live
    when:
      - delivery.quantity in [13, 14]
      - order.country in lists.superstitious
    unless:
      - order.comment == "keep"
    reject: { grace: 24h }
    tests:
      - name: thirteen to Denmark
        given: { delivery: { quantity: 13 }, order: { comment: "" } }
        expect: reject
      - name: twelve
        given: { delivery: { quantity: 12 }, order: { comment: "" } }
        expect: none
      - name: thirteen to France
        given: { delivery: { quantity: 13 }, order: { country: FR, comment: "" } }
        expect: none
      - name: wanted all the same
        given: { delivery: { quantity: 13 }, order: { comment: keep } }
        expect: none
  - id: accept-kept
    title: Wanted all the same
    action: accept
    mode: live
    when: [ 'order.comment == "keep"' ]
`;

/** Wide limits, so that a test trips only over what it is about. */
const WIDE = {
  matches_seen: 1,
  max_per_hour: 100,
  max_per_day: 100,
  max_per_customer_per_day: 100,
  share_floor: 100,
  median_floor: 100,
};

export function settingsWith(reject: object, more: object = {}): string {
  const safeguards = { reject: { ...WIDE, ...reject }, ...more };
  const lists = { superstitious: ['DK', 'SE'] };
  return JSON.stringify({ version: 1, lists, safeguards });
}

export type RejectFixture = Awaited<ReturnType<typeof createRejectFixture>>;

const WHO = { actor: 'ada', reason: 'agreed' };
/** A backtest that knows the outcome of every delivery. */
const KNOWN = { notKnown: { deliveries: 0 } };
const address = { countryCode: 'DK', accountNo: 'C-1' };

export async function createRejectFixture(rulesText = UNLUCKY, settings = settingsWith({})) {
  const fixture = await createDeciderFixture();
  const { clock, store } = fixture;
  let rules: LoadedRuleSet = loadedRules(rulesText, settings);
  const operations = createRejectOperations({
    ...{ store, clock, ruleSet: () => rules.ruleSet, onChanged: () => undefined },
  });
  const nothing = () => undefined;
  const review = createReview({
    ...{ store, clock, rules: () => rules, onPush: nothing, onReviewed: nothing },
  });
  const order: DeciderFixture['order'] = (id, more) =>
    fixture.order(id, { comment: '', shippingAddress: address, ...more });
  const rejects = {
    ...{ ...fixture, order, operations, review },
    rules: () => rules,
    useRules(text: string, other = settings) {
      rules = loadedRules(text, other);
    },
    /** The rules in a folder, as the daemon keeps them in force. */
    async keeper() {
      const directory = temporaryFolder();
      writeFileSync(join(directory, 'settings.yaml'), settings);
      const write = (text: string) => writeFileSync(join(directory, 'rules.yaml'), text);
      write(rulesText);
      const open = () => openRuleKeeper({ store, clock, directory, log: silentLogger() });
      const keeper = await open();
      const put = async (text: string) => {
        write(text);
        return keeper.reload(WHO, { directory });
      };
      return { keeper, put, write, open };
    },
    /** The mirror heard of orders just now. */
    async fresh() {
      const state = { complete_at: clock.now(), due_at: clock.now() };
      const rest = { last_run_id: null, complete_rows: 1, last_error: null };
      await store.db
        .insertInto('stream_state')
        .values({ stream: 'orders', ...state, ...rest })
        .onConflict((conflict) => conflict.column('stream').doUpdateSet(state))
        .execute();
    },
    /** A delivery that the rule is about, of an order of its own. */
    async unlucky(id: number, more: Readonly<Record<string, unknown>> = {}, pieces = 13) {
      await order(id, more);
      await fixture.delivery({
        id,
        order: id,
        lines: [['a', pieces]],
        more: { deliveryNo: `DN-${id}` },
      });
    },
    decide: (parts: Parameters<DeciderFixture['decide']>[0] = {}) =>
      fixture.decide({ rules: () => rules, ...parts }),
    /** Everything that arming asks for, and the arming. */
    async arm(lastsMs = 90 * DAY, ruleId = rules.ruleSet.rules[0]?.id) {
      const rule = rules.ruleSet.rules.find(({ id }) => id === ruleId);
      if (!rule) throw new Error('no rule');
      const decisions = (await unseenMatches(store.db, rule.hash, { limit: 100 })).map(
        (m) => m.decisionId,
      );
      if (decisions.length > 0) await operations.seen(rule.id, decisions, WHO);
      const period = { since: 0, until: clock.now(), deliveries: 1 };
      const hashes = { [rule.id]: rule.hash };
      const report = { ruleSetHash: rules.ruleSet.hash, ...period, rules: hashes, report: KNOWN };
      await operations.keepReport(report, WHO);
      return operations.arm(rule.id, lastsMs, WHO);
    },
    /** Delivery 1 waits to be rejected. */
    async waiting(lastsMs?: number) {
      await rejects.unlucky(1);
      await rejects.decide();
      await rejects.arm(lastsMs);
      await rejects.decide();
    },
    /** Runs the executor; what it gives stops it. */
    begin(parts: Partial<RejectDeps> = {}, watchesClock = true): () => Promise<void> {
      const guard = guardClock(store, clock);
      const executor = createRejectExecutor({
        ...{
          store,
          clock: guard.clock,
          log: silentLogger(),
          rules: () => rules,
          mode: () => 'live',
        },
        freshness: { stock: 365 * DAY, season: 365 * DAY, styles: 365 * DAY, seasons: 365 * DAY },
        ...{ readDelivery: async () => ({}), onPush: nothing, onDecided: nothing },
        ...parts,
      });
      const stop = new AbortController();
      const run = (): Promise<void> => executor.run(stop.signal);
      const done = watchesClock ? guard.run(stop.signal, run) : run();
      onTestFinished(() => stop.abort());
      return async () => {
        stop.abort();
        await done;
      };
    },
    /** Runs the executor until it has nothing to do. */
    async execute(parts: Partial<RejectDeps> = {}) {
      const end = rejects.begin(parts, false);
      for (let turn = 0; turn < 10; turn += 1) await clock.advance(0);
      await end();
    },
    /** The grace is over, and everything is fresh. */
    async afterGrace(parts: Partial<RejectDeps> = {}) {
      await clock.advance(DAY);
      await rejects.fresh();
      await rejects.execute(parts);
    },
    latest: () =>
      store.db
        .selectFrom('decision')
        .select(['order_delivery_id as id', 'actor', 'trigger', 'outcome', 'reason', 'rules'])
        .orderBy('decision_id', 'desc')
        .executeTakeFirstOrThrow(),
    async entry(id = 1) {
      return store.db
        .selectFrom('reject_entry')
        .selectAll()
        .where('order_delivery_id', '=', id)
        .orderBy('entry_id', 'desc')
        .executeTakeFirstOrThrow();
    },
    /** Status that the outbox is to set, by delivery: `1 rejected`. */
    async intendedPushes() {
      const rows = await store.db
        .selectFrom('outbox')
        .select('body')
        .orderBy('outbox_id')
        .execute();
      return rows.map(({ body }) => {
        const { orderDeliveryId, status } = JSON.parse(body);
        return `${orderDeliveryId} ${status}`;
      });
    },
    overview: () => rejectOverview(store.db, clock.now()),
  };
  await rejects.fresh();
  return rejects;
}
