/** A live reject rule that may not reject holds what it matches, whyever it may not. */
import { describe, expect, it } from 'vitest';
import { RESTORE_STEPS } from '../../../src/daemon/upkeep.ts';
import { tripBreaker } from '../../../src/decisions/reject/breaker.ts';
import { verifyDecisions } from '../../../src/decisions/simulation/replay.ts';
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
