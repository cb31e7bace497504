import { deflateSync } from 'node:zlib';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  appendDecision,
  type DecisionEntry,
  readFacts,
  storedEvaluation,
} from '../../../src/decisions/journal.ts';
import { replayDecision, verifyDecisions } from '../../../src/decisions/simulation/replay.ts';
import { evaluate } from '../../../src/rules/evaluate.ts';
import type { Facts } from '../../../src/rules/facts/plain.ts';
import {
  ACCEPT_SMALL,
  createDeciderFixture,
  type DeciderFixture,
  loadedRules,
} from '../support.ts';

let fixture: DeciderFixture;
beforeEach(async () => {
  fixture = await createDeciderFixture();
  for (const id of [1, 2, 3]) await fixture.delivery({ id, lines: [['a', id * 10]] });
  await fixture.decide();
});

/** The rules of the fixture, with more for the one that holds. */
function loadedRulesWith(more: string) {
  const message = "message: '{{delivery.quantity}} pieces'";
  const rules = loadedRules(ACCEPT_SMALL.replace(message, more));
  return { rules: () => rules };
}

/** Appends what the third decision was, but for some of it. */
async function append(change: (entry: DecisionEntry) => Partial<DecisionEntry>): Promise<number> {
  const { db } = fixture.store;
  const row = await db
    .selectFrom('decision as n')
    .innerJoin('rule_set as s', 's.hash', 'n.rule_set_hash')
    .selectAll('n')
    .select('s.words')
    .where('n.decision_id', '=', 3)
    .executeTakeFirstOrThrow();
  const facts: Facts | undefined = await readFacts(db, row.facts_digest);
  if (!facts) throw new Error('the decision has no facts');
  const entry: DecisionEntry = {
    orderDeliveryId: row.order_delivery_id,
    orderId: row.order_id,
    at: row.at,
    trigger: row.trigger,
    actor: row.actor,
    ruleSetHash: row.rule_set_hash,
    facts,
    mode: row.mode,
    outcome: row.outcome,
    reason: row.reason,
    rules: JSON.parse(row.rules),
    shadow: JSON.parse(row.shadow),
    evaluation: storedEvaluation(row),
  };
  return fixture.store.transaction((tx) => appendDecision(tx, { ...entry, ...change(entry) }));
}

describe('a replay', () => {
  it('gives the identical outcome from the stored facts and the stored rules', async () => {
    await fixture.delivery({ id: 3, lines: [['a', 1]] });
    const replay = await replayDecision(fixture.store.db, 3);
    expect(replay).toMatchObject({ orderDeliveryId: 3, outcome: 'hold', differences: [] });
    expect(replay.replayed.live).toEqual(replay.recorded.live);
  });

  it('tells what differs', async () => {
    const id = await append(({ facts }) => ({
      facts: { ...facts, delivery: { ...facts.delivery, quantity: 5 } },
    }));
    expect((await replayDecision(fixture.store.db, id)).differences).toEqual([
      'outcome: hold (hold_rule) by hold-large: 30 pieces -> ' +
        'accept (accept_rule) by accept-small: Small deliveries',
      expect.stringMatching(/^outcome with shadow rules: /),
      'rule accept-small: false -> true',
      'rule hold-large: true -> false',
    ]);
  });

  it('refuses a decision that is not there', async () => {
    await expect(replayDecision(fixture.store.db, 99)).rejects.toThrow('there is no decision 99');
  });

  it('follows a hold that had lasted its time and then said accept', async () => {
    const rules = loadedRulesWith('hold: { at_most: 3h, then: accept }');
    await fixture.decide(rules);
    await fixture.clock.advance(3 * 3_600_000);
    expect(await fixture.decide(rules)).toEqual(['3 accept']);
    expect((await verifyDecisions(fixture.store.db, 10)).different).toEqual([]);
  });

  it('does not mind that a rule was given other words', async () => {
    const [one, two] = [loadedRulesWith('message: one'), loadedRulesWith('message: two')];
    await fixture.decide(one);
    await fixture.delivery({ id: 4, lines: [['a', 30]] });
    expect(await fixture.decide(two)).toEqual(['4 hold']);
    expect((await verifyDecisions(fixture.store.db, 10)).different).toEqual([]);
  });

  it('does not mind what an earlier version let through and this one refuses', async () => {
    const { db } = fixture.store;
    const row = await db.selectFrom('rule_set').selectAll().executeTakeFirstOrThrow();
    const bare = 'delivery.lines.map(line, line.price).exists(price, price > 500)';
    const files = row.files.replace('delivery.quantity <= 20', bare);
    await db
      .insertInto('rule_set')
      .values({ ...row, hash: 'f'.repeat(64), files })
      .execute();
    const id = await append(() => ({ ruleSetHash: 'f'.repeat(64) }));
    expect(files).not.toBe(row.files);
    expect((await replayDecision(db, id)).replayed.live.kind).toBe('hold');
  });

  it('of a reject rule that only watched unarmed, as in 0.1.0, has the same outcome', async () => {
    const reject = 'action: reject\n    mode: live\n    when: [ delivery.quantity > 20 ]\n';
    const rules = loadedRules(`rules:\n  - id: no\n    title: No\n    ${reject}`);
    await fixture.delivery({ id: 4, lines: [['a', 30]] });
    expect(await fixture.decide({ rules: () => rules })).toContain('4 hold');
    const { ruleSet } = rules;
    const id = await append(({ facts }) => {
      const evaluation = evaluate(ruleSet, facts, { watching: new Set(['no']) });
      const { live, shadow } = evaluation;
      expect(evaluation.rules).toMatchObject([{ id: 'no', mode: 'shadow', armed: false }]);
      const said = { outcome: live.kind, reason: live.reason, rules: live.rules, shadow };
      return { ...said, evaluation, ruleSetHash: ruleSet.hash };
    });
    const replay = await replayDecision(fixture.store.db, id);
    expect(replay).toMatchObject({ outcome: 'no_rule', differences: [] });
    expect((await verifyDecisions(fixture.store.db, 10)).different).toEqual([]);
  });

  it('of a delivery below zero that the rules of 0.1.0 accepted has the same outcome', async () => {
    await fixture.delivery({ id: 4, lines: [['a', -1]] });
    expect(await fixture.decide()).toContain('4 hold');
    expect((await verifyDecisions(fixture.store.db, 10)).different).toEqual([]);
    const held = await replayDecision(fixture.store.db, 4);
    const { ruleSet, facts } = held.judged;
    const evaluation = evaluate(ruleSet, facts, { allowsBelowZero: true });
    const { live, shadow } = evaluation;
    const said = { outcome: live.kind, reason: live.reason, rules: live.rules, shadow };
    const id = await append(() => ({ ...said, facts, evaluation, ruleSetHash: ruleSet.hash }));
    const replay = await replayDecision(fixture.store.db, id);
    expect(replay).toMatchObject({ outcome: 'accept', differences: [] });
    expect((await verifyDecisions(fixture.store.db, 10)).different).toEqual([]);
  });

  it('of what somebody put back in the service follows where the rules only watch', async () => {
    const watching = { mode: 'shadow' } as const;
    await fixture.decide(watching);
    for (const status of ['accepted', 'pending']) {
      await fixture.clock.advance(1_000);
      await fixture.delivery({ id: 3, lines: [['a', 30]], status });
      await fixture.decide(watching);
    }
    expect((await fixture.decisions()).at(-1)).toMatchObject({ id: 3, trigger: 'external' });
    expect((await verifyDecisions(fixture.store.db, 10)).different).toEqual([]);
  });

  it('of what a person decided gives what the rules had said', async () => {
    const id = await append(() => ({ actor: 'person:anna', outcome: 'accept', rules: [] }));
    const replay = await replayDecision(fixture.store.db, id);
    expect(replay).toMatchObject({ actor: 'person:anna', outcome: 'accept', differences: [] });
    expect(replay.replayed.live.kind).toBe('hold');
  });
});

describe('the proof of the journal', () => {
  it('proves the chain and replays a sample, the newest decision among it', async () => {
    const report = await verifyDecisions(fixture.store.db, 2);
    expect(report).toMatchObject({ chain: { entries: 3, brokenAt: undefined }, different: [] });
    expect(report.replayed).toEqual([3, 2]);
    expect((await verifyDecisions(fixture.store.db, 100)).replayed).toEqual([3, 2, 1]);
    expect((await verifyDecisions(fixture.store.db, 0)).replayed).toEqual([]);
  });

  it('tells a decision whose rule set is lost, and goes on', async () => {
    const id = await append(() => ({ ruleSetHash: 'f'.repeat(64) }));
    const report = await verifyDecisions(fixture.store.db, 100);
    expect(report.replayed).toHaveLength(4);
    expect(report.different).toEqual([
      { decisionId: id, differences: [expect.stringMatching(/^no rule set in the journal/)] },
    ]);
  });

  it.each(['not deflated', 'not json', '{}', 'null', '{"rules":[1]}'])(
    'finds an evaluation that somebody made %s',
    async (text) => {
      const { db } = fixture.store;
      const evaluation = text === 'not deflated' ? Buffer.from(text) : deflateSync(text);
      await sql`drop trigger decision_is_final`.execute(db);
      await db.updateTable('decision').set({ evaluation }).where('decision_id', '=', 2).execute();
      const report = await verifyDecisions(db, 100);
      expect(report.chain).toMatchObject({ entries: 1, brokenAt: 2 });
      expect(report.different).toEqual([
        {
          decisionId: 2,
          differences: ['decision 2 has no replay: what is stored of it cannot be read'],
        },
      ]);
    },
  );

  it('finds texts of rules that somebody made unreadable', async () => {
    await fixture.store.db.updateTable('rule_set').set({ files: 'oops' }).execute();
    const { different } = await verifyDecisions(fixture.store.db, 100);
    expect(different.map(({ decisionId }) => decisionId)).toEqual([3, 2, 1]);
  });
});
