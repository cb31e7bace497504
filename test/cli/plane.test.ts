/** The commands of the copy in PostgreSQL beside a daemon, where no PostgreSQL is at hand. */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { sharedEnd } from '../console/support.ts';
import { type Cell, startCell } from '../support/cell.ts';
import { startTestReference } from '../support/house.ts';
import { askPlane, localOf, NOWHERE, planeIn } from './plane-support.ts';

const { atEnd, end } = sharedEnd();
afterAll(end);

describe('with a plane in the configuration', () => {
  let cell: Cell;

  beforeAll(async () => {
    const reference = await startTestReference({}, systemClock(), atEnd);
    cell = await startCell(reference, { account: 'acme', url: NOWHERE, atEnd });
  });

  const ask = (action: string, token?: string) => askPlane(cell.config.dataDir, action, token);

  it('doctor wants it initialized, and init changes nothing while PostgreSQL is away', async () => {
    expect(await planeIn(cell)).toEqual([
      {
        check: 'plane',
        grade: 'warning',
        text: 'configured, and not initialized',
        advice: 'selvedge plane init',
      },
    ]);
    const { code, stderr } = await cell.call('plane', 'init');
    expect([code, stderr]).toEqual([1, expect.stringMatching(/PostgreSQL: .*ECONNREFUSED/)]);
    expect(stderr).not.toContain('canary');
    expect((await planeIn(cell))[0]?.text).toBe('configured, and not initialized');
    const told = await cell.call('plane', 'status');
    expect(told.stdout).toMatch(/^feed +there is none: selvedge plane init$/m);
    expect(told.code).toBe(1);
  });

  it('the daemon begins the feed once, only for its token, and the audit says who', async () => {
    expect((await ask('begin-feed')).statusCode).toBe(401);
    const { token } = localOf(cell.config.dataDir);
    expect(JSON.parse((await ask('begin-feed', token)).text)).toEqual({
      before: 'absent',
      now: 'whole',
    });
    expect(JSON.parse((await ask('begin-feed', token)).text)).toEqual({
      before: 'whole',
      now: 'whole',
    });
    const { stdout } = await cell.call('audit', 'list', '--action', 'plane.');
    expect(stdout.match(/cli:test +began the feed of the copy/g)).toHaveLength(1);
    expect(await planeIn(cell)).toMatchObject([
      { grade: 'warning', text: expect.stringContaining('there is no copy') },
    ]);
  });

  it('doctor knows a feed that no configuration wants, and remove ends it', async () => {
    const written = readFileSync(cell.file, 'utf8');
    writeFileSync(cell.file, written.replace(/^plane:\n(?: .*\n)+/m, ''));
    expect(await planeIn(cell)).toEqual([
      {
        check: 'plane',
        grade: 'warning',
        text: 'the database keeps a feed for a copy, and plane.url is not set',
        advice: 'selvedge plane remove; or set plane.url again',
      },
    ]);
    const { stdout } = await cell.call('plane', 'remove');
    expect(stdout).toMatch(/^feed +removed$/m);
    expect(stdout).toContain('drop schema "selvedge" cascade');
    expect(await planeIn(cell)).toEqual([]);
    const again = await cell.call('plane', 'remove', '--json');
    expect(JSON.parse(again.stdout)).toMatchObject({ feed: { before: 'absent', now: 'absent' } });
  });
});
