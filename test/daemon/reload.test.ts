import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Config } from '../../src/config/schema.ts';
import { openDaemon } from '../../src/daemon/daemon.ts';
import { createDecisions, openRules } from '../../src/daemon/decisions.ts';
import { createPulse } from '../../src/daemon/supervisor.ts';
import { loadRuleSet } from '../../src/decisions/rule-files.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { ConfigError } from '../../src/lib/errors.ts';
import { createLogger } from '../../src/lib/log.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createScrubber } from '../../src/lib/secret.ts';
import type { Reference } from '../../src/reference/reference.ts';
import { handOffOfThread } from '../../src/store/writers/write-hand-off.ts';
import { createRejectFixture, settingsWith, UNLUCKY } from '../decisions/reject/support.ts';
import { createDeciderFixture } from '../decisions/support.ts';
import { SIMPLE_RULES, startTestReference, testConfig, testLogger } from '../support/house.ts';
import { pausesIn } from '../support/pauses.ts';
import { placeDatabase, temporaryFolder } from '../support/store.ts';

const BROKEN = SIMPLE_RULES.replace('delivery.quantity <= 20', 'delivry.quantity <= 20');
const ONLY_HOLDS = SIMPLE_RULES.replace('action: accept', 'action: hold');
const WHO = { actor: 'ada', reason: 'a new season' };

let reference: Reference;
let folder: string;

beforeEach(async () => {
  reference = await startTestReference();
  folder = temporaryFolder();
  placeDatabase(join(folder, 'data', 'mirror.db'));
});

/** Opened, not running: what is loaded shows without any work. */
async function open(config: Config, readConfig?: () => Config, log = testLogger()) {
  const parts = { clock: systemClock(), random: systemRandom(), scrubber: createScrubber() };
  const daemon = await openDaemon(config, { ...parts, log, readConfig });
  onTestFinished(() => daemon.run(AbortSignal.abort()));
  const { db } = daemon.store;
  const write = (text: string) => writeFileSync(join(config.rules.directory, 'rules.yaml'), text);
  const incidents = async () => {
    const rows = await db
      .selectFrom('incident')
      .select('detail')
      .where('kind', 'in', ['rules_invalid', 'config_invalid'])
      .where('resolved_at', 'is', null)
      .execute();
    return rows.map(({ detail }) => detail);
  };
  return { ...daemon, db, write, incidents };
}

describe('a reload', () => {
  it('puts the new rules in force as a whole and tells what changed', async () => {
    const zone = { path: 'console.timeZone', value: 'Asia/Tokyo' };
    const daemon = await open(testConfig(reference, { folder, overrides: [zone] }));
    // Reports and views count the days of the house from the start on.
    const offsets = daemon.db.selectFrom('zone_offset').select('minutes').execute();
    expect(await offsets).toEqual([{ minutes: 540 }]);
    const same = await daemon.reload(WHO);
    expect(same.diff.from).toBe(same.diff.to);
    daemon.write(SIMPLE_RULES.replaceAll('20', '30').replace('hold-large', 'hold-huge'));
    const { diff, disarmed, restart } = await daemon.reload(WHO);
    expect(diff.from).toBe(same.diff.to);
    expect(diff).toMatchObject({ added: ['hold-huge'], removed: ['hold-large'] });
    expect(diff.changed.map(({ id }) => id)).toEqual(['accept-small']);
    expect([disarmed, restart]).toEqual([[], []]);
    const stored = await daemon.db.selectFrom('rule_set').select('hash').execute();
    expect(stored.map(({ hash }) => hash)).toContain(diff.to);
    const audit = await daemon.db.selectFrom('audit').selectAll().orderBy('id', 'desc').execute();
    expect(audit[0]).toMatchObject({ ...WHO, action: 'rules.reload' });
  });

  it('with a mistake keeps the old rules, names its place, and stays an incident', async () => {
    const daemon = await open(testConfig(reference, { folder }));
    const { diff } = await daemon.reload(WHO);
    daemon.write(BROKEN);
    await expect(daemon.reload(WHO)).rejects.toThrow(/rules\.yaml:8:9 .*delivry/);
    expect((await daemon.incidents())[0]).toContain('delivry');
    daemon.write(SIMPLE_RULES);
    expect((await daemon.reload(WHO)).diff.to).toBe(diff.to);
    expect(await daemon.incidents()).toEqual([]);
  });

  it('names armed rules whose text is another one now', async () => {
    const reject = SIMPLE_RULES.replace('action: hold', 'action: reject');
    const daemon = await open(testConfig(reference, { folder, rules: reject }));
    const { files } = await daemon.db
      .selectFrom('rule_set')
      .select('files')
      .executeTakeFirstOrThrow();
    expect(files).toContain('action: reject');
    const { rules } = loadRuleSet(join(folder, 'rules')).ruleSet;
    const rule = rules.find(({ id }) => id === 'hold-large');
    const arming = { rule_id: 'hold-large', rule_hash: rule?.hash ?? '', at: 0, ...WHO };
    const unended = { ended_at: null, ended_by: null, end_reason: null };
    await daemon.db
      .insertInto('arming')
      .values({ ...arming, ...unended, report_id: 1, expires_at: 9e15 })
      .execute();
    expect((await daemon.reload(WHO)).disarmed).toEqual([]);
    daemon.write(reject.replace('> 20', '> 21'));
    expect((await daemon.reload(WHO)).disarmed).toEqual(['hold-large']);
    const audit = await daemon.db.selectFrom('audit').selectAll().orderBy('id', 'desc').execute();
    expect(JSON.parse(audit[0]?.detail ?? '')).toMatchObject({ disarmed: ['hold-large'] });
    daemon.write(reject.replace('> 20', '> 22'));
    expect((await daemon.reload(WHO)).disarmed).toEqual([]);
    daemon.write(reject);
    await daemon.reload(WHO);
    const ended = { ended_at: 1, ended_by: 'ada', end_reason: 'wrong' };
    await daemon.db.updateTable('arming').set(ended).execute();
    daemon.write(reject.replace('> 20', '> 21'));
    expect((await daemon.reload(WHO)).disarmed).toEqual([]);
  });

  it('reads the configuration too, and tells what acts now and what needs a restart', async () => {
    const config = testConfig(reference, { folder });
    const directory = join(folder, 'elsewhere');
    cpSync(config.rules.directory, directory, { recursive: true });
    let read: () => Config = () => ({
      ...config,
      rules: { ...config.rules, mode: 'shadow', directory },
      outbox: { ...config.outbox, dryRun: true },
    });
    let told = '';
    const log = createLogger({
      ...{ level: 'info', format: 'json', scrubber: createScrubber() },
      write: (line) => {
        told += line;
      },
    });
    const daemon = await open(config, () => read(), log);
    const { diff, mode, ...reloaded } = await daemon.reload(WHO);
    expect([diff.from === diff.to, mode]).toEqual([true, { from: 'live', to: 'shadow' }]);
    expect(reloaded.directory).toEqual({ from: config.rules.directory, to: directory });
    expect(reloaded.restart).toEqual(['outbox.dryRun']);
    expect(told).toContain('the rules act in another mode');
    expect(told).toContain('the rules are read from another folder');
    read = () => {
      throw new ConfigError('config.invalid', 'the configuration has a mistake');
    };
    daemon.write(SIMPLE_RULES.replaceAll('20', '30'));
    await expect(daemon.reload(WHO)).rejects.toMatchObject({ code: 'config.invalid' });
    read = () => config;
    expect((await daemon.reload(WHO)).diff.changed).toHaveLength(2);
  });

  it('with a mistake in the configuration is an incident until one succeeds', async () => {
    const config = testConfig(reference, { folder });
    let isBroken = true;
    const readConfig = (): Config => {
      if (isBroken) throw new ConfigError('config.invalid', 'the configuration has a mistake');
      return config;
    };
    const first = await open(config, readConfig);
    await expect(first.reload(WHO)).rejects.toThrow('has a mistake');
    expect((await first.incidents()).join()).toContain('the configuration has a mistake');
    isBroken = false;
    // The first daemon is sound again, although the rules have mistakes.
    first.write(BROKEN);
    await expect(first.reload(WHO)).rejects.toThrow('delivry');
    expect((await first.incidents()).map((detail) => /delivry/.test(detail))).toEqual([true]);
    first.write(SIMPLE_RULES);
    await first.reload(WHO);
    expect(await first.incidents()).toEqual([]);
    isBroken = true;
    await expect(first.reload(WHO)).rejects.toThrow('has a mistake');
    await first.run(AbortSignal.abort());
    expect(await (await open(config)).incidents()).toEqual([]);
  });

  it('lets rules that were only watched not act before those that come with the mode', async () => {
    const { store, clock, ...house } = await createDeciderFixture();
    await house.delivery({ id: 1 });
    const overrides = [{ path: 'rules.mode', value: 'observe' }];
    const config = testConfig(reference, { folder, overrides });
    const live: Config = { ...config, rules: { ...config.rules, mode: 'live' } };
    const log = testLogger();
    const rules = await openRules(config, { store, clock, log, readConfig: () => live });
    const { current, mode } = rules;
    const decider = house.decider({ log, rules: current, mode, settleMs: 1_000 });
    const stop = new AbortController();
    const done = decider.run(stop.signal);
    await clock.advance(10);
    await clock.advance(10);
    // The thread of a pull writes: the decision has its turn next, and then the reload.
    const thread = handOffOfThread(store.writeHandOff);
    await thread.acquire();
    await clock.advance(1_000);
    writeFileSync(join(config.rules.directory, 'rules.yaml'), ONLY_HOLDS);
    const reloading = rules.reload(WHO);
    await clock.advance(0);
    thread.release();
    await reloading;
    stop.abort();
    await done;
    expect(await house.decisions()).toMatchObject([{ outcome: 'accept', trigger: 'new' }]);
    expect(await house.pushes()).toEqual([]);
  });

  it('that ends acting has canceled what was not sent when it is answered', async () => {
    const { store, clock, ...house } = await createDeciderFixture();
    await house.delivery({ id: 1 });
    const config = testConfig(reference, { folder });
    const readConfig = (): Config => ({ ...config, rules: { ...config.rules, mode: 'observe' } });
    const log = testLogger();
    const rules = await openRules(config, { store, clock, log, readConfig });
    const pauses = await pausesIn({ store, clock });
    const decisions = createDecisions(config, {
      ...{ store, log, rules, pauses, pulse: createPulse(clock) },
      readOrder: () => Promise.reject(new Error('nothing is read')),
      onDecided: () => undefined,
      onPush: () => undefined,
    });
    await house.decide({ rules: rules.current });
    expect(await house.pushes()).toEqual(['delivery/1/decision/1']);
    await decisions.reload(WHO);
    const push = await store.db.selectFrom('outbox').select('state').executeTakeFirstOrThrow();
    expect(push.state).toBe('canceled');
  });

  it('of another text has called off the pushes of a reject when it is answered', async () => {
    const { store, clock, ...rejects } = await createRejectFixture();
    await rejects.waiting();
    await rejects.afterGrace();
    const config = testConfig(reference, { folder });
    const write = (name: string, text: string) =>
      writeFileSync(join(config.rules.directory, name), text);
    write('rules.yaml', UNLUCKY);
    write('settings.yaml', settingsWith({}));
    const log = testLogger();
    const rules = await openRules(config, { store, clock, log });
    const pauses = await pausesIn({ store, clock });
    const decisions = createDecisions(config, {
      ...{ store, log, rules, pauses, pulse: createPulse(clock) },
      readOrder: () => Promise.reject(new Error('nothing is read')),
      onDecided: () => undefined,
      onPush: () => undefined,
    });
    const push = () => store.db.selectFrom('outbox').select('state').executeTakeFirstOrThrow();
    await decisions.reload(WHO);
    expect(await push()).toEqual({ state: 'queued' });
    write('rules.yaml', UNLUCKY.replace('[13, 14]', '[13]'));
    await decisions.reload(WHO);
    expect(await push()).toEqual({ state: 'canceled' });
  });
});

describe('a start without good rules', () => {
  it('observes with the last good ones, until a reload succeeds', async () => {
    const config = testConfig(reference, { folder });
    const first = await open(config);
    const good = await first.reload(WHO);
    await first.run(AbortSignal.abort());
    first.write(BROKEN);
    const daemon = await open(config);
    expect((await daemon.incidents())[0]).toContain('delivry');
    daemon.write(SIMPLE_RULES);
    const { diff, mode } = await daemon.reload(WHO);
    expect([diff.from, diff.to]).toEqual([good.diff.to, good.diff.to]);
    expect(mode).toEqual({ from: 'observe', to: 'live' });
    expect(await daemon.incidents()).toEqual([]);
  });

  it('observes with none when there never were any', async () => {
    const config = testConfig(reference, { folder });
    rmSync(config.rules.directory, { recursive: true });
    const daemon = await open(config);
    expect((await daemon.incidents())[0]).toContain('cannot be read');
  });
});
