import { rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { openKillSwitch, stopFile } from '../../src/decisions/stop/kill-switch.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { readDecisionsStop } from '../../src/store/state.ts';
import { turnsOfThread } from '../../src/store/writers/turns.ts';
import { acceptByHand, createHouse, type House, sendInVain } from './support.ts';

const WHO = { actor: 'anna', reason: 'prices look wrong' };

function switchOf({ store, clock }: House) {
  const dataDir = dirname(store.path);
  return openKillSwitch({ store, clock, log: silentLogger(), dataDir });
}

async function modes(house: House): Promise<string[]> {
  const rows = await house.store.db
    .selectFrom('decision')
    .select(['mode', 'outcome'])
    .orderBy('decision_id')
    .execute();
  return rows.map(({ mode, outcome }) => `${mode} ${outcome}`);
}

async function states(house: House): Promise<string[]> {
  const rows = await house.store.db.selectFrom('outbox').select('state').execute();
  return rows.map(({ state }) => state);
}

async function audited(house: House): Promise<string[]> {
  const rows = await house.store.db.selectFrom('audit').select(['action', 'actor']).execute();
  return rows.map(({ action, actor }) => `${action} by ${actor}`);
}

describe('the kill switch', () => {
  it('lets decisions be journaled and nothing be sent, until somebody resumes', async () => {
    const house = await createHouse();
    const killSwitch = await switchOf(house);
    expect(killSwitch.brake('delivery_status')).toBeUndefined();
    await killSwitch.stop(WHO);
    await house.delivery({ id: 1 });
    expect(await house.decide({ killSwitch })).toEqual(['1 accept']);
    expect(await modes(house)).toEqual(['stopped accept']);
    expect(await states(house)).toEqual([]);
    expect(killSwitch.brake('delivery_status')).toBe(
      'anna stopped the decisions: prices look wrong',
    );
    expect(killSwitch.brake('order')).toBeUndefined();
    await killSwitch.resume({ actor: 'bo', reason: 'they are right' });
    expect(await house.decide({ killSwitch })).toEqual(['1 accept']);
    expect(await modes(house)).toEqual(['stopped accept', 'live accept']);
    expect(await states(house)).toEqual(['queued']);
    expect(await audited(house)).toEqual(['decisions.stop by anna', 'decisions.resume by bo']);
  });

  it.each(['a person', 'the file'])('is thrown again when %s could not write it', async (who) => {
    const house = await createHouse();
    const killSwitch = await switchOf(house);
    await house.delivery({ id: 1 });
    await house.decide({ killSwitch });
    await sql`create trigger full before insert on audit begin
      select raise(abort, 'the disk is full'); end`.execute(house.store.db);
    if (who === 'the file') writeFileSync(stopFile(dirname(house.store.path)), 'prices');
    const stop = () => (who === 'the file' ? killSwitch.followFile() : killSwitch.stop(WHO));
    await expect(stop()).rejects.toThrow('the disk is full');
    expect(killSwitch.stopped()?.actor).toBe(who === 'the file' ? 'file' : undefined);
    await sql`drop trigger full`.execute(house.store.db);
    await stop();
    expect(await states(house)).toEqual(['canceled']);
    expect(await readDecisionsStop(house.store.db)).toEqual(killSwitch.stopped());
  });

  it('outlives a restart', async () => {
    const house = await createHouse();
    await (await switchOf(house)).stop(WHO);
    expect((await switchOf(house)).stopped()).toMatchObject(WHO);
    expect(await readDecisionsStop(house.store.db)).toMatchObject(WHO);
  });

  it('cancels what the rules accepted and was not sent, and decides it anew after', async () => {
    const house = await createHouse();
    const killSwitch = await switchOf(house);
    await house.delivery({ id: 1 });
    await house.decide({ killSwitch });
    await house.delivery({ id: 2 });
    await acceptByHand(house, 2);
    await house.clock.advance(1_000);
    await killSwitch.stop(WHO);
    expect(await states(house)).toEqual(['canceled', 'queued']);
    expect(await house.decide({ killSwitch })).toEqual(['1 accept']);
    await killSwitch.resume(WHO);
    expect(await house.decide({ killSwitch })).toEqual(['1 accept']);
    expect(await states(house)).toEqual(['canceled', 'queued', 'queued']);
  });

  it('has what it canceled decided anew when it is off again before anybody looked', async () => {
    const house = await createHouse();
    const killSwitch = await switchOf(house);
    await house.delivery({ id: 1 });
    await house.decide({ killSwitch });
    await house.clock.advance(1_000);
    await killSwitch.stop(WHO);
    await house.clock.advance(1_000);
    await killSwitch.resume(WHO);
    expect(await house.decide({ killSwitch })).toEqual(['1 accept']);
    expect(await states(house)).toEqual(['canceled', 'queued']);
  });

  it('cancels before it is let go what was on its way and came back unsent', async () => {
    const house = await createHouse();
    const killSwitch = await switchOf(house);
    await house.delivery({ id: 1 });
    await house.decide({ killSwitch });
    const comeBack = await sendInVain(house);
    await killSwitch.stop(WHO);
    await comeBack();
    expect(await states(house)).toEqual(['queued']);
    await house.clock.advance(1_000);
    await killSwitch.resume(WHO);
    expect(await states(house)).toEqual(['canceled']);
    expect(await house.decide({ killSwitch })).toEqual(['1 accept']);
    expect(await states(house)).toEqual(['canceled', 'queued']);
  });

  it('is thrown by a file as well, at once, and let go when the file is gone', async () => {
    const house = await createHouse();
    const killSwitch = await switchOf(house);
    const file = stopFile(dirname(house.store.path));
    writeFileSync(file, 'the service is under repair\n');
    const brake = killSwitch.brake('delivery_status');
    expect(brake).toBe('file stopped the decisions: the service is under repair');
    await house.delivery({ id: 1 });
    await house.decide({ killSwitch });
    expect(await modes(house)).toEqual(['stopped accept']);
    await expect(killSwitch.resume(WHO)).rejects.toMatchObject({ code: 'decisions.stop_file' });
    rmSync(file);
    expect(await house.decide({ killSwitch })).toEqual(['1 accept']);
    expect(await states(house)).toEqual(['queued']);
    expect(await audited(house)).toEqual(['decisions.stop by file', 'decisions.resume by file']);
  });

  it('refuses to be thrown twice, or to be let go when it is not on', async () => {
    const house = await createHouse();
    const killSwitch = await switchOf(house);
    await expect(killSwitch.resume(WHO)).rejects.toMatchObject({ code: 'decisions.not_stopped' });
    await killSwitch.stop(WHO);
    await expect(killSwitch.stop(WHO)).rejects.toMatchObject({ code: 'decisions.stopped' });
    const file = stopFile(dirname(house.store.path));
    writeFileSync(file, '');
    await killSwitch.followFile();
    rmSync(file);
    await killSwitch.followFile();
    expect(killSwitch.stopped()).toMatchObject(WHO);
  });

  it.each([
    ['before', true],
    ['behind', false],
  ])('holds when it is thrown while its end is being written down, %s it', async (_, isFirst) => {
    const house = await createHouse();
    const killSwitch = await switchOf(house);
    await killSwitch.stop(WHO);
    const thread = turnsOfThread(house.store.turns);
    await thread.enter();
    const resuming = [killSwitch.resume(WHO)];
    await house.clock.advance(1);
    const again = { actor: 'bo', reason: 'they are wrong again' };
    // Who comes when the turn is free goes before who was told to wait for it.
    if (isFirst) thread.leave();
    const stopping = killSwitch.stop(again);
    if (!isFirst) thread.leave();
    await Promise.all(resuming);
    expect(await stopping).toMatchObject(again);
    expect(killSwitch.stopped()).toMatchObject(again);
    expect((await switchOf(house)).stopped()).toMatchObject(again);
  });
});
