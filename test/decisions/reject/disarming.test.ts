/** Causes that disarm a reject rule although no person asked for it, and their traces. */
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RESTORE_STEPS } from '../../../src/daemon/upkeep.ts';
import { rejectOverview } from '../../../src/decisions/review/overview.ts';
import type { RuleKeeper } from '../../../src/decisions/rule-keeper.ts';
import { createBackup } from '../../../src/store/backup/create.ts';
import { restoreBackup } from '../../../src/store/backup/restore.ts';
import { openStore } from '../../../src/store/store.ts';
import { temporaryFolder } from '../../support/store.ts';
import { watch } from '../support.ts';
import {
  createRejectFixture,
  DAY,
  HOUR,
  type RejectFixture,
  settingsWith,
  UNLUCKY,
} from './support.ts';

const OTHER = UNLUCKY.replace('[13, 14]', '[13]');
const CHANGED = 'the rule was changed or removed, or a list, table or setting that it reads was';

/** Arms the reject rule in the text that the keeper has. */
async function arm({ store, clock }: RejectFixture, { current }: RuleKeeper) {
  const [rule] = current().ruleSet.rules;
  const named = { rule_id: rule?.id ?? '', rule_hash: rule?.hash ?? '' };
  const open = { ended_at: null, ended_by: null, end_reason: null };
  const who = { actor: 'ada', reason: 'agreed', at: clock.now(), report_id: 1 };
  const arming = { ...named, ...who, ...open, expires_at: clock.now() + 90 * DAY };
  await store.db.insertInto('arming').values(arming).execute();
}

/** Lists who disarmed it, why, and how many rejects waited for it. */
async function disarmings({ store }: RejectFixture) {
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
    const rejects = await createRejectFixture();
    const { put } = await rejects.keeper();
    await rejects.waiting();
    await put(OTHER);
    await put(UNLUCKY);
    const reason = `rules reload by ada: ${CHANGED}`;
    expect(await disarmings(rejects)).toEqual([['daemon', reason, 1]]);
    expect(await rejects.overview()).toMatchObject({ disarmed: [{ reason }] });
    expect(await rejects.entry()).toMatchObject({ state: 'withdrawn', detail: reason });
  });

  it('is disarmed by another text at a start, once, and the audit says so', async () => {
    const rejects = await createRejectFixture();
    const { write, open } = await rejects.keeper();
    await rejects.waiting();
    await open();
    expect(await disarmings(rejects)).toEqual([]);
    write(OTHER);
    await open();
    await open();
    expect(await disarmings(rejects)).toEqual([['daemon', `at a start: ${CHANGED}`, 1]]);
  });

  it('is disarmed by a list of another content, once, and the audit names it', async () => {
    const settings = JSON.parse(settingsWith({}));
    settings.lists.superstitious = { from: 'erp_customer.account_no', sample: ['DK'] };
    const rejects = await createRejectFixture(UNLUCKY, JSON.stringify(settings));
    await rejects.customer({ accountNo: 'DK' });
    const { keeper } = await rejects.keeper();
    await arm(rejects, keeper);
    await rejects.customer({ accountNo: 'SE' });
    expect(await keeper.refreshLists()).toBe(true);
    await rejects.customer({ accountNo: 'NO' });
    expect(await keeper.refreshLists()).toBe(true);
    const reason = 'lists were read with another content: superstitious';
    expect(await disarmings(rejects)).toEqual([['daemon', reason, 0]]);
  });

  it('is disarmed by the end of its time, once, and nothing waits for it any more', async () => {
    const rejects = await createRejectFixture();
    await rejects.keeper();
    await rejects.waiting(HOUR);
    await rejects.clock.advance(HOUR);
    await rejects.execute();
    await rejects.execute();
    const reason = 'the time it was armed for is over';
    expect(await disarmings(rejects)).toEqual([['daemon', reason, 1]]);
    expect(await rejects.overview()).toMatchObject({
      armed: [],
      waiting: [],
      disarmed: [{ reason }],
    });
    expect(await rejects.decide()).toEqual(['1 hold']);
  });

  it('is not disarmed by a clock that is ahead for a while', async () => {
    const rejects = await createRejectFixture();
    const { clock } = rejects;
    await rejects.waiting();
    const close = await watch(rejects);
    await close();
    clock.step(365 * DAY);
    await rejects.execute();
    expect(await rejects.overview()).toMatchObject({ armed: [], waiting: [], disarmed: [] });
    clock.step(-365 * DAY);
    expect(await rejects.decide()).toEqual(['1 reject']);
    expect(await rejects.overview()).toMatchObject({ armed: [{}], waiting: [{}] });
    expect(await disarmings(rejects)).toEqual([]);
  });

  it('is disarmed by another text also while the clock is ahead for a while', async () => {
    const rejects = await createRejectFixture();
    const { put } = await rejects.keeper();
    await rejects.waiting();
    rejects.clock.step(365 * DAY);
    await put(OTHER);
    rejects.clock.step(-365 * DAY);
    await put(UNLUCKY);
    expect(await disarmings(rejects)).toEqual([['daemon', `rules reload by ada: ${CHANGED}`, 1]]);
    expect(await rejects.overview()).toMatchObject({ armed: [], waiting: [] });
  });
});

describe('the restore of a backup', () => {
  it('withdraws the rejects that waited in it, as disarming does', async () => {
    const rejects = await createRejectFixture();
    await rejects.waiting();
    const { store, clock } = rejects;
    const from = dirname(store.path);
    const plan = (dataDir: string) => {
      return { dataDir, exchangeFile: join(dataDir, 'exchange.db'), busyTimeoutMs: 1_000 };
    };
    const to = { directory: join(from, 'backups'), keep: 1, program: 'test' };
    const { backup } = await createBackup({ ...plan(from), ...to }, clock);
    const dataDir = temporaryFolder();
    const what = { backup: backup.path, withExchange: false, actor: 'ann', steps: RESTORE_STEPS };
    const { directory } = to;
    const restored = await restoreBackup({ ...plan(dataDir), ...what, directory }, clock);
    expect(restored).toMatchObject({ disarmed: ['reject-unlucky'], withdrawn: 1 });
    const opened = await openStore({ path: join(dataDir, 'mirror.db'), busyTimeoutMs: 100 }, clock);
    const overview = await rejectOverview(opened.store.db, clock.now());
    expect(overview).toMatchObject({ armed: [], waiting: [] });
    const { db } = opened.store;
    expect(await db.selectFrom('reject_entry').select(['state', 'safeguard']).execute()).toEqual([
      { state: 'withdrawn', safeguard: 'arming' },
    ]);
    await opened.store.close();
  });
});
