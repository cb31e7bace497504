import { deflateSync, inflateSync } from 'node:zlib';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { forgetDecisions } from '../../src/decisions/forget.ts';
import {
  appendDecision,
  readFacts,
  unpackEvaluation,
  verifyChain,
} from '../../src/decisions/journal.ts';
import { decisionsOf } from '../../src/decisions/review/deliveries.ts';
import { verifyDecisions } from '../../src/decisions/simulation/replay.ts';
import { ACCEPT_SMALL, createDeciderFixture, type DeciderFixture, loadedRules } from './support.ts';

async function houseWith(deliveries: number): Promise<DeciderFixture> {
  const fixture = await createDeciderFixture();
  for (let id = 1; id <= deliveries; id += 1) await fixture.delivery({ id, order: id });
  await fixture.decide();
  return fixture;
}

/** Changes the database as somebody with a SQLite client could. */
async function tamper(fixture: DeciderFixture, statement: string): Promise<void> {
  const { db } = fixture.store;
  await sql`drop trigger if exists decision_is_final`.execute(db);
  await sql`drop trigger if exists decision_stays`.execute(db);
  await sql.raw(statement).execute(db);
}

describe('the decision journal', () => {
  it('is a chain that holds over many entries', async () => {
    const { store } = await houseWith(1);
    const row = await store.db
      .selectFrom('decision')
      .innerJoin('rule_set', 'rule_set.hash', 'rule_set_hash')
      .selectAll()
      .executeTakeFirstOrThrow();
    const facts = await readFacts(store.db, row.facts_digest);
    if (!facts) throw new Error('no facts');
    const entry = {
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
      evaluation: JSON.parse(unpackEvaluation(row)),
    };
    await store.transaction(async (tx) => {
      for (let more = 1; more < 210; more += 1) await appendDecision(tx, entry);
    });
    expect(await verifyChain(store.db)).toEqual({
      entries: 210,
      forgotten: 0,
      brokenAt: undefined,
    });
  });

  it('refuses to be changed or shortened', async () => {
    const { db } = (await houseWith(1)).store;
    await expect(db.updateTable('decision').set({ reason: 'x' }).execute()).rejects.toThrow(
      'append-only',
    );
    await expect(db.deleteFrom('decision').execute()).rejects.toThrow('append-only');
  });

  it.each([
    ['a changed reason', "update decision set reason = 'x' where decision_id = 2"],
    ['a changed outcome', "update decision set outcome = 'hold' where decision_id = 2"],
    ['a changed time', 'update decision set at = at + 1 where decision_id = 2'],
    [
      'changed facts',
      "update fact_snapshot set facts = x'00' where digest = " +
        '(select facts_digest from decision where decision_id = 2)',
    ],
    ['a changed evaluation', "update decision set evaluation = x'00' where decision_id = 2"],
    ['other matches', 'update decision set matched = \'["x"]\' where decision_id = 2'],
    [
      'lost facts',
      'delete from fact_snapshot where digest = ' +
        '(select facts_digest from decision where decision_id = 2)',
    ],
  ])('shows %s', async (_what, statement) => {
    const fixture = await houseWith(3);
    await tamper(fixture, statement);
    expect(await verifyChain(fixture.store.db)).toMatchObject({ entries: 1, brokenAt: 2 });
  });

  it('shows a missing entry at the one that follows it', async () => {
    const fixture = await houseWith(3);
    await tamper(fixture, 'delete from decision where decision_id = 2');
    expect(await verifyChain(fixture.store.db)).toMatchObject({ entries: 1, brokenAt: 3 });
  });

  it('holds where facts and texts were forgotten, and counts these entries', async () => {
    const { store } = await houseWith(3);
    const forgotten = await store.transaction((tx) => forgetDecisions(tx, 2, [2]));
    expect(forgotten).toBe(1);
    expect(await verifyChain(store.db)).toEqual({ entries: 3, forgotten: 1, brokenAt: undefined });
    const report = await verifyDecisions(store.db, 100);
    expect(report.replayed).toHaveLength(2);
    expect(report.different).toEqual([]);
    const again = await store.transaction((tx) => forgetDecisions(tx, 2, [2]));
    expect(again).toBe(1);
    expect(await verifyChain(store.db)).toMatchObject({ forgotten: 1, brokenAt: undefined });
  });

  it.each([
    ['an outcome changed with them', "update decision set outcome = 'hold' where decision_id = 2"],
    [
      'other digests in their place',
      `update decision set evaluation = cast(replace(cast(evaluation as text), 'a', 'b') as blob)
        where decision_id = 2`,
    ],
    ['a text that was not forgotten', 'delete from fact_snapshot where facts is not null'],
  ])('shows %s', async (_what, statement) => {
    const fixture = await houseWith(3);
    await fixture.store.transaction((tx) => forgetDecisions(tx, 2, [2]));
    await tamper(fixture, statement);
    expect((await verifyChain(fixture.store.db)).brokenAt).toBeDefined();
  });

  it('shows changed words of a rule set at the first entry by it', async () => {
    const fixture = await houseWith(3);
    await tamper(fixture, 'update rule_set set words = null');
    expect(await verifyChain(fixture.store.db)).toMatchObject({ entries: 0, brokenAt: 1 });
  });

  it('stores of an evaluation only what others by its rules do not say', async () => {
    const { db } = (await houseWith(2)).store;
    const rows = await db.selectFrom('decision').select('evaluation').execute();
    const [latest] = await decisionsOf(db, 2);
    const whole = JSON.stringify(latest?.evaluation).length;
    expect(rows.every(({ evaluation }) => evaluation.length * 5 < whole)).toBe(true);
    expect(latest?.evaluation).toMatchObject({ live: { kind: 'accept' } });
  });

  it('stores as little where hundreds of rules say more than 32 kB', async () => {
    const rules = Array.from({ length: 150 }, (_, at) => {
      const each = `delivery.lines.all(l, l.quantity > ${at})`;
      const when = `['delivery.quantity > ${100 + at}', '${each}']`;
      return `  - { id: hold-${at}, title: Over ${at}, action: hold, mode: live, when: ${when} }\n`;
    });
    const fixture = await createDeciderFixture();
    const loaded = loadedRules(`${ACCEPT_SMALL}${rules.join('')}`);
    for (const id of [1, 2]) await fixture.delivery({ id, order: id });
    await fixture.decide({ rules: () => loaded });
    const { db } = fixture.store;
    const row = await db
      .selectFrom('decision')
      .innerJoin('rule_set', 'rule_set.hash', 'rule_set_hash')
      .select(['evaluation', 'words'])
      .where('decision_id', '=', 2)
      .executeTakeFirstOrThrow();
    expect(unpackEvaluation(row).length).toBeGreaterThan(65_536);
    expect(row.evaluation.length).toBeLessThan(700);
    expect((await verifyDecisions(db, 9)).different).toEqual([]);
  });

  it('is read and proved as 0.1.0 stored it', async () => {
    const fixture = await houseWith(2);
    const { db } = fixture.store;
    const rows = await db
      .selectFrom('decision')
      .innerJoin('rule_set', 'rule_set.hash', 'rule_set_hash')
      .select(['decision_id', 'evaluation', 'words'])
      .execute();
    await sql`drop trigger decision_is_final`.execute(db);
    for (const row of rows) {
      const dictionary = inflateSync(row.words ?? Buffer.alloc(0));
      const evaluation = deflateSync(unpackEvaluation(row), { dictionary });
      await db
        .updateTable('decision')
        .set({ evaluation })
        .where('decision_id', '=', row.decision_id)
        .execute();
    }
    expect(await verifyDecisions(db, 9)).toMatchObject({
      chain: { entries: 2, brokenAt: undefined },
      different: [],
    });
  });

  it('keeps no value of a fact in the words of a rule set, which outlive its order', async () => {
    const { db } = (await houseWith(1)).store;
    const { words } = await db.selectFrom('rule_set').select('words').executeTakeFirstOrThrow();
    const text = inflateSync(words ?? Buffer.alloc(0)).toString();
    const [latest] = await decisionsOf(db, 1);
    expect(JSON.stringify(latest?.evaluation)).toMatch(/"value":\d/);
    expect(text).toContain('"operands":[{');
    expect(text).not.toMatch(/"value":(?!null|true|false|"unknown")/);
  });

  it('keeps the facts of a decision and the text of its rules', async () => {
    const { db } = (await houseWith(1)).store;
    const decision = await db.selectFrom('decision').selectAll().executeTakeFirstOrThrow();
    expect(await readFacts(db, decision.facts_digest)).toMatchObject({ delivery: { id: 1 } });
    const rules = await db.selectFrom('rule_set').selectAll().executeTakeFirstOrThrow();
    expect(rules.hash).toBe(decision.rule_set_hash);
    expect(rules.files).toContain('accept-small');
  });
});
