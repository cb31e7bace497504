import { rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { pauseFile } from '../../src/store/pauses.ts';
import { DECISIONS, pausesIn } from '../support/pauses.ts';
import { acceptByHand, createHouse, type House } from './support.ts';

const WHO = { actor: 'anna', reason: 'prices look wrong' };

function fileOf({ store }: House): string {
  return pauseFile(dirname(store.path), 'decisions');
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

describe('paused decisions', () => {
  it('are journaled and nothing of them is sent, until somebody resumes', async () => {
    const house = await createHouse();
    const pauses = await pausesIn(house);
    await pauses.pause(DECISIONS, WHO);
    await house.delivery({ id: 1 });
    expect(await house.decide({ pauses })).toEqual(['1 accept']);
    expect(await modes(house)).toEqual(['paused accept']);
    expect(await states(house)).toEqual([]);
    // What people and the ERP want goes on.
    expect(pauses.reason('pushes', 'delivery_status')).toBeUndefined();
    await pauses.resume(DECISIONS, { actor: 'bo', reason: 'they are right' });
    expect(await house.decide({ pauses })).toEqual(['1 accept']);
    expect(await modes(house)).toEqual(['paused accept', 'live accept']);
    expect(await states(house)).toEqual(['queued']);
    expect(await audited(house)).toEqual(['pause by anna', 'resume by bo']);
  });

  it.each(['a person', 'the file'])('are paused once %s can write it down', async (who) => {
    const house = await createHouse();
    const pauses = await pausesIn(house);
    await house.delivery({ id: 1 });
    await house.decide({ pauses });
    await sql`create trigger full before insert on audit begin
      select raise(abort, 'the disk is full'); end`.execute(house.store.db);
    if (who === 'the file') writeFileSync(fileOf(house), 'prices');
    const pause = () => (who === 'the file' ? pauses.followFiles() : pauses.pause(DECISIONS, WHO));
    await expect(pause()).rejects.toThrow('the disk is full');
    expect(pauses.list()).toHaveLength(who === 'the file' ? 1 : 0);
    expect(await states(house)).toEqual(['queued']);
    await sql`drop trigger full`.execute(house.store.db);
    await pause();
    expect(await states(house)).toEqual(['canceled']);
  });

  it('cancel what the rules accepted and was not sent, and not what a person did', async () => {
    const house = await createHouse();
    const pauses = await pausesIn(house);
    await house.delivery({ id: 1 });
    await house.decide({ pauses });
    await house.delivery({ id: 2 });
    await acceptByHand(house, 2);
    await house.clock.advance(1_000);
    await pauses.pause(DECISIONS, WHO);
    expect(await states(house)).toEqual(['canceled', 'queued']);
    expect(await house.decide({ pauses })).toEqual(['1 accept']);
    await pauses.resume(DECISIONS, WHO);
    expect(await house.decide({ pauses })).toEqual(['1 accept']);
    expect(await states(house)).toEqual(['canceled', 'queued', 'queued']);
  });

  it('are decided again where the pause is over before anybody looked', async () => {
    const house = await createHouse();
    const pauses = await pausesIn(house);
    await house.delivery({ id: 1 });
    await house.decide({ pauses });
    await house.clock.advance(1_000);
    await pauses.pause(DECISIONS, WHO);
    await house.clock.advance(1_000);
    await pauses.resume(DECISIONS, WHO);
    expect(await house.decide({ pauses })).toEqual(['1 accept']);
    expect(await states(house)).toEqual(['canceled', 'queued']);
  });

  it('are paused by a file as well, at once, and go on when the file is gone', async () => {
    const house = await createHouse();
    const pauses = await pausesIn(house);
    writeFileSync(fileOf(house), 'the service is under repair\n');
    expect(pauses.reason('decisions')).toBe(
      'paused by file (decisions): the service is under repair',
    );
    await house.delivery({ id: 1 });
    await house.decide({ pauses });
    expect(await modes(house)).toEqual(['paused accept']);
    rmSync(fileOf(house));
    expect(await house.decide({ pauses })).toEqual(['1 accept']);
    expect(await states(house)).toEqual(['queued']);
    expect(await audited(house)).toEqual(['pause by file', 'resume by file']);
  });
});
