/** A live reject rule that may not reject holds what it matches, whyever it may not. */
import { describe, expect, it } from 'vitest';
import { RESTORE_STEPS } from '../../../src/daemon/upkeep.ts';
import { tripBreaker } from '../../../src/decisions/reject/breaker.ts';
import { heldUnarmed } from '../../../src/decisions/simulation/not-armed.ts';
import { verifyDecisions } from '../../../src/decisions/simulation/replay.ts';
import { createLogger } from '../../../src/lib/log.ts';
import { createScrubber } from '../../../src/lib/secret.ts';
import { readNews } from '../../../src/ops/notify/news.ts';
import {
  createRejectFixture,
  DAY,
  HOUR,
  type RejectFixture,
  settingsWith,
  UNLUCKY,
} from './support.ts';

const WHO = { actor: 'ada', reason: 'agreed' };

/** Accepts everything that is not large, and so what the reject rule is about. */
const ACCEPT_ALL = `  - id: accept-all
    title: Anything
    action: accept
    mode: live
    when: [ 'delivery.quantity < 100' ]
`;
const RULES = UNLUCKY + ACCEPT_ALL;
const QUIET = RULES.replace('    reject: {', '    otherwise: nothing\n    reject: {');

type Cause = (rejects: RejectFixture) => Promise<unknown> | undefined;

/** Whatever leaves a rule that was armed without its right to reject. */
const CAUSES: readonly (readonly [string, Cause])[] = [
  [
    'was edited',
    async (rejects) => {
      await (await rejects.keeper()).put(shorter(rejects));
      rejects.useRules(shorter(rejects));
    },
  ],
  [
    'reads a list that was edited',
    (rejects) => {
      rejects.useRules(textOf(rejects), settingsWith({}).replace('"SE"', '"SE","NO"'));
      return undefined;
    },
  ],
  ['was armed for a time that is over', ({ clock }) => clock.advance(2 * DAY)],
  ['was disarmed', ({ operations }) => operations.disarm('reject-unlucky', WHO)],
  [
    'was edited while nothing ran',
    async (rejects) => {
      const { write, open } = await rejects.keeper();
      write(shorter(rejects));
      await open();
      rejects.useRules(shorter(rejects));
    },
  ],
  [
    'was armed before a restore',
    ({ store, clock }) => store.transaction((tx) => RESTORE_STEPS.disarmAll(tx, WHO, clock.now())),
  ],
  [
    'is stopped by the breaker',
    ({ store, clock }) => {
      const trip = { at: clock.now(), safeguard: 'cap', detail: 'an hour: 6' };
      return store.transaction((tx) => tripBreaker(tx, trip));
    },
  ],
];

function textOf({ rules }: RejectFixture): string {
  return rules().files[0]?.text ?? '';
}

function shorter(rejects: RejectFixture): string {
  return textOf(rejects).replace('[13, 14]', '[13]');
}

/** Delivery 1 was decided while the rule was armed; delivery 2 comes when it is no more. */
async function deprived(cause: Cause, text: string): Promise<RejectFixture> {
  const rejects = await createRejectFixture(text, settingsWith({ matches_seen: 0 }));
  await rejects.unlucky(1);
  await rejects.arm(DAY);
  expect(await rejects.decide()).toEqual(['1 hold']);
  expect(await rejects.latest()).toMatchObject({ rules: '["accept-all","reject-unlucky"]' });
  await rejects.clock.advance(HOUR);
  await cause(rejects);
  await rejects.unlucky(2);
  await rejects.decide();
  return rejects;
}

describe('a live reject rule', () => {
  it.each(CAUSES)('that %s lets nothing be accepted that it matches', async (_, cause) => {
    const rejects = await deprived(cause, RULES);
    expect(await rejects.intendedPushes()).toEqual([]);
    for (const id of [1, 2]) {
      const journal = rejects.store.db.selectFrom('decision').where('order_delivery_id', '=', id);
      const last = journal.select(['outcome', 'rules', 'reason']).orderBy('decision_id', 'desc');
      expect(await last.executeTakeFirst()).toMatchObject({
        ...{ outcome: 'hold', rules: '["reject-unlucky"]' },
        reason: expect.stringContaining('arm it, or decide by hand'),
      });
    }
    expect((await verifyDecisions(rejects.store.db, 100)).different).toEqual([]);
    // A person decides meanwhile, and the rule that is armed again rejects nothing of that.
    await rejects.review.act({ ...WHO, action: 'accept', delivery: 'DN-2' });
    expect(await rejects.intendedPushes()).toEqual(['2 accepted']);
  });

  it.each(CAUSES)('that %s and only watches lets others accept it', async (_, cause) => {
    const rejects = await deprived(cause, QUIET);
    expect((await rejects.intendedPushes()).toSorted()).toEqual(['1 accepted', '2 accepted']);
  });

  it('that nobody armed holds for three business days, and then people are told', async () => {
    const rejects = await createRejectFixture(RULES);
    await rejects.unlucky(1);
    expect(await rejects.decide()).toEqual(['1 hold']);
    const holds = rejects.store.db
      .selectFrom('hold')
      .select(['rule_id', 'afterwards', 'lapsed_at']);
    const hold = { rule_id: 'reject-unlucky', afterwards: 'escalate' };
    expect(await holds.execute()).toEqual([{ ...hold, lapsed_at: null }]);
    await rejects.clock.advance(6 * DAY);
    await rejects.decide();
    const incident = rejects.store.db.selectFrom('incident').select(['kind', 'key']);
    expect(await incident.execute()).toContainEqual({
      kind: 'hold_expired',
      key: 'reject-unlucky',
    });
    expect(await rejects.intendedPushes()).toEqual([]);
  });

  it('goes on holding for the safeguard that stopped its reject, and says that one', async () => {
    const rejects = await createRejectFixture();
    await rejects.waiting();
    await rejects.afterGrace({ readDelivery: () => Promise.reject(new Error('no answer')) });
    await rejects.operations.disarm('reject-unlucky', WHO);
    expect(await rejects.decide()).toEqual(['1 hold']);
    expect((await rejects.latest()).reason).toMatch(
      /^reject-unlucky would reject this but may not/,
    );
  });
});

describe('an arming that ends soon', () => {
  it('is an incident seven days before, until the rule is armed for longer', async () => {
    const rejects = await createRejectFixture(UNLUCKY, settingsWith({ matches_seen: 0 }));
    const open = async () => {
      await rejects.execute();
      const incidents = rejects.store.db.selectFrom('incident').select(['kind', 'key', 'detail']);
      return incidents.where('resolved_at', 'is', null).execute();
    };
    await rejects.arm(90 * DAY);
    await rejects.clock.advance(82 * DAY);
    expect(await open()).toEqual([]);
    await rejects.clock.advance(DAY + HOUR);
    const ends = new Date(rejects.clock.now() + 7 * DAY - HOUR).toISOString();
    const detail = JSON.stringify({ rule: 'reject-unlucky', ends });
    expect(await open()).toEqual([{ kind: 'arming_ends', key: 'reject-unlucky', detail }]);
    const span = { after: 0, until: rejects.clock.now() };
    const [news] = await readNews(rejects.store.db, 'disarmed', span);
    expect(news).toMatchObject({ cause: 'ends:reject-unlucky', count: 1 });
    await rejects.arm(DAY);
    expect(await open()).toEqual([]);
    await rejects.clock.advance(13 * HOUR);
    expect(await open()).toMatchObject([{ kind: 'arming_ends' }]);
    await rejects.clock.advance(DAY);
    expect(await open()).toEqual([]);
  });
});

describe('what reject rules hold that may not reject', () => {
  it('is counted for a set before it is in force', async () => {
    const rejects = await createRejectFixture(RULES, settingsWith({ matches_seen: 0 }));
    const { store, clock } = rejects;
    await rejects.unlucky(1);
    await rejects.unlucky(2);
    await rejects.unlucky(3, {}, 12);
    const counted = () => heldUnarmed(store, rejects.rules().ruleSet, clock.now());
    expect(await counted()).toEqual({ rules: ['reject-unlucky'], deliveries: 2 });
    await rejects.arm();
    expect(await counted()).toEqual({ rules: [], deliveries: 0 });
    await rejects.unlucky(4, {}, 20);
    expect(await rejects.decide()).toContain('4 accept');
    rejects.useRules(RULES.replace('[13, 14]', '[20]'));
    // Its accept waits in the outbox, and is taken back.
    expect(await counted()).toEqual({ rules: ['reject-unlucky'], deliveries: 1 });
    rejects.useRules(QUIET.replace('[13, 14]', '[13]'));
    expect(await counted()).toEqual({ rules: [], deliveries: 0 });
    rejects.useRules(shorter(rejects).replace('otherwise: nothing', 'otherwise: hold'));
    expect(await counted()).toEqual({ rules: ['reject-unlucky'], deliveries: 2 });
  });

  it('is said once in the log of a start, when all that waits was looked at', async () => {
    const rejects = await createRejectFixture(RULES);
    await rejects.unlucky(1);
    await rejects.unlucky(2);
    const lines: string[] = [];
    const write = (line: string) => void lines.push(line);
    const scrubber = createScrubber();
    await rejects.decide({ log: createLogger({ level: 'warn', format: 'json', scrubber, write }) });
    const told = lines.filter((line) => line.includes('"held"')).map((line) => JSON.parse(line));
    expect(told).toMatchObject([{ held: [{ rule: 'reject-unlucky', deliveries: 2 }] }]);
  });
});
