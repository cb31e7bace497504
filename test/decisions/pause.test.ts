import { rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { pauseFile } from '../../src/store/pauses.ts';
import { DECISIONS, pausesIn } from '../support/pauses.ts';
import { acceptByHand, createDeciderFixture, type DeciderFixture } from './support.ts';

const WHO = { actor: 'anna', reason: 'prices look wrong' };

function fileOf({ store }: DeciderFixture): string {
  return pauseFile(dirname(store.path), 'decisions');
}

async function modes(fixture: DeciderFixture): Promise<string[]> {
  const rows = await fixture.store.db
    .selectFrom('decision')
    .select(['mode', 'outcome'])
    .orderBy('decision_id')
    .execute();
  return rows.map(({ mode, outcome }) => `${mode} ${outcome}`);
}

async function states(fixture: DeciderFixture): Promise<string[]> {
  const rows = await fixture.store.db.selectFrom('outbox').select('state').execute();
  return rows.map(({ state }) => state);
}

async function audited(fixture: DeciderFixture): Promise<string[]> {
  const rows = await fixture.store.db.selectFrom('audit').select(['action', 'actor']).execute();
  return rows.map(({ action, actor }) => `${action} by ${actor}`);
}

describe('paused decisions', () => {
  it('are journaled and nothing of them is sent, until somebody resumes', async () => {
    const fixture = await createDeciderFixture();
    const pauses = await pausesIn(fixture);
    await pauses.pause(DECISIONS, WHO);
    await fixture.delivery({ id: 1 });
    expect(await fixture.decide({ pauses })).toEqual(['1 accept']);
    expect(await modes(fixture)).toEqual(['paused accept']);
    expect(await states(fixture)).toEqual([]);
    // Decisions of people and pushes of the ERP go on.
    expect(pauses.reason('pushes', 'delivery_status')).toBeUndefined();
    await pauses.resume(DECISIONS, { actor: 'bo', reason: 'they are right' });
    expect(await fixture.decide({ pauses })).toEqual(['1 accept']);
    expect(await modes(fixture)).toEqual(['paused accept', 'live accept']);
    expect(await states(fixture)).toEqual(['queued']);
    expect(await audited(fixture)).toEqual(['pause by anna', 'resume by bo']);
  });

  it.each(['a person', 'the file'])('are paused once %s can write it down', async (who) => {
    const fixture = await createDeciderFixture();
    const pauses = await pausesIn(fixture);
    await fixture.delivery({ id: 1 });
    await fixture.decide({ pauses });
    await sql`create trigger full before insert on audit begin
      select raise(abort, 'the disk is full'); end`.execute(fixture.store.db);
    if (who === 'the file') writeFileSync(fileOf(fixture), 'prices');
    const pause = () => (who === 'the file' ? pauses.followFiles() : pauses.pause(DECISIONS, WHO));
    await expect(pause()).rejects.toThrow('the disk is full');
    expect(pauses.list()).toHaveLength(who === 'the file' ? 1 : 0);
    expect(await states(fixture)).toEqual(['queued']);
    await sql`drop trigger full`.execute(fixture.store.db);
    await pause();
    expect(await states(fixture)).toEqual(['canceled']);
  });

  it('cancel what the rules accepted and was not sent, and not what a person did', async () => {
    const fixture = await createDeciderFixture();
    const pauses = await pausesIn(fixture);
    await fixture.delivery({ id: 1 });
    await fixture.decide({ pauses });
    await fixture.delivery({ id: 2 });
    await acceptByHand(fixture, 2);
    await fixture.clock.advance(1_000);
    await pauses.pause(DECISIONS, WHO);
    expect(await states(fixture)).toEqual(['canceled', 'queued']);
    expect(await fixture.decide({ pauses })).toEqual(['1 accept']);
    await pauses.resume(DECISIONS, WHO);
    expect(await fixture.decide({ pauses })).toEqual(['1 accept']);
    expect(await states(fixture)).toEqual(['canceled', 'queued', 'queued']);
  });

  it('are decided again where the pause is over before anybody looked', async () => {
    const fixture = await createDeciderFixture();
    const pauses = await pausesIn(fixture);
    await fixture.delivery({ id: 1 });
    await fixture.decide({ pauses });
    await fixture.clock.advance(1_000);
    await pauses.pause(DECISIONS, WHO);
    await fixture.clock.advance(1_000);
    await pauses.resume(DECISIONS, WHO);
    expect(await fixture.decide({ pauses })).toEqual(['1 accept']);
    expect(await states(fixture)).toEqual(['canceled', 'queued']);
  });

  it('are paused by a file as well, at once, and go on when the file is gone', async () => {
    const fixture = await createDeciderFixture();
    const pauses = await pausesIn(fixture);
    writeFileSync(fileOf(fixture), 'the service is under repair\n');
    expect(pauses.reason('decisions')).toBe(
      'paused by file (decisions): the service is under repair',
    );
    await fixture.delivery({ id: 1 });
    await fixture.decide({ pauses });
    expect(await modes(fixture)).toEqual(['paused accept']);
    rmSync(fileOf(fixture));
    expect(await fixture.decide({ pauses })).toEqual(['1 accept']);
    expect(await states(fixture)).toEqual(['queued']);
    expect(await audited(fixture)).toEqual(['pause by file', 'resume by file']);
  });
});
