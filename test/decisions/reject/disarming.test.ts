/** What disarms a reject rule although no person asked for it, and what is left of that. */
import { describe, expect, it } from 'vitest';
import type { RuleKeeper } from '../../../src/decisions/rule-keeper.ts';
import { watch } from '../support.ts';
import { type Court, createCourt, DAY, HOUR, settingsWith, UNLUCKY } from './support.ts';

const OTHER = UNLUCKY.replace('[13, 14]', '[13]');
const CHANGED = 'the rule was changed or removed, or a list, table or setting that it reads was';

/** Arms the reject rule in the text that the keeper has. */
async function arm({ store, clock }: Court, { current }: RuleKeeper) {
  const [rule] = current().ruleSet.rules;
  const named = { rule_id: rule?.id ?? '', rule_hash: rule?.hash ?? '' };
  const open = { ended_at: null, ended_by: null, end_reason: null };
  const who = { actor: 'ada', reason: 'agreed', at: clock.now(), report_id: 1 };
  const arming = { ...named, ...who, ...open, expires_at: clock.now() + 90 * DAY };
  await store.db.insertInto('arming').values(arming).execute();
}

/** Who disarmed it, why, and how many rejects waited for it. */
async function disarmings({ store }: Court) {
  const rows = await store.db
    .selectFrom('audit')
    .select(['actor', 'reason', 'detail'])
    .where('action', '=', 'rules.disarm')
    .where('subject', '=', 'rule:reject-unlucky')
    .execute();
  return rows.map(({ actor, reason, detail }) => [actor, reason, JSON.parse(detail).withdrawn]);
}

describe('a reject rule that nobody disarmed', () => {
  it('is disarmed by another text at a reload, once, and the audit says so', async () => {
    const court = await createCourt();
    const { put } = await court.keeper();
    await court.waiting();
    await put(OTHER);
    await put(UNLUCKY);
    const reason = `rules reload by ada: ${CHANGED}`;
    expect(await disarmings(court)).toEqual([['daemon', reason, 1]]);
    expect(await court.overview()).toMatchObject({ disarmed: [{ reason }] });
    expect(await court.entry()).toMatchObject({ state: 'withdrawn', detail: reason });
  });

  it('is disarmed by another text at a start, once, and the audit says so', async () => {
    const court = await createCourt();
    const { write, open } = await court.keeper();
    await court.waiting();
    await open();
    expect(await disarmings(court)).toEqual([]);
    write(OTHER);
    await open();
    await open();
    expect(await disarmings(court)).toEqual([['daemon', `at a start: ${CHANGED}`, 1]]);
  });

  it('is disarmed by a list of another content, once, and the audit names it', async () => {
    const settings = JSON.parse(settingsWith({}));
    settings.lists.superstitious = { from: 'erp_customer.account_no', sample: ['DK'] };
    const court = await createCourt(UNLUCKY, JSON.stringify(settings));
    await court.customer({ accountNo: 'DK' });
    const { keeper } = await court.keeper();
    await arm(court, keeper);
    await court.customer({ accountNo: 'SE' });
    expect(await keeper.refreshLists()).toBe(true);
    await court.customer({ accountNo: 'NO' });
    expect(await keeper.refreshLists()).toBe(true);
    const reason = 'lists were read with another content: superstitious';
    expect(await disarmings(court)).toEqual([['daemon', reason, 0]]);
  });

  it('is disarmed by the end of its time, once, and nothing waits for it any more', async () => {
    const court = await createCourt();
    await court.keeper();
    await court.waiting(HOUR);
    await court.clock.advance(HOUR);
    await court.execute();
    await court.execute();
    const reason = 'the time it was armed for is over';
    expect(await disarmings(court)).toEqual([['daemon', reason, 1]]);
    expect(await court.overview()).toMatchObject({
      armed: [],
      waiting: [],
      disarmed: [{ reason }],
    });
    expect(await court.decide()).toEqual(['1 no_rule']);
  });

  it('is not disarmed by a clock that is ahead for a while', async () => {
    const court = await createCourt();
    const { clock } = court;
    await court.waiting();
    const close = await watch(court);
    await close();
    clock.step(365 * DAY);
    await court.execute();
    expect(await court.overview()).toMatchObject({ armed: [], waiting: [], disarmed: [] });
    clock.step(-365 * DAY);
    expect(await court.decide()).toEqual(['1 reject']);
    expect(await court.overview()).toMatchObject({ armed: [{}], waiting: [{}] });
    expect(await disarmings(court)).toEqual([]);
  });

  it('is disarmed by another text also while the clock is ahead for a while', async () => {
    const court = await createCourt();
    const { put } = await court.keeper();
    await court.waiting();
    court.clock.step(365 * DAY);
    await put(OTHER);
    court.clock.step(-365 * DAY);
    await put(UNLUCKY);
    expect(await disarmings(court)).toEqual([['daemon', `rules reload by ada: ${CHANGED}`, 1]]);
    expect(await court.overview()).toMatchObject({ armed: [], waiting: [] });
  });
});
