/** The commands of the copy in PostgreSQL beside a daemon, where no PostgreSQL is at hand. */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../src/lib/clock.ts';
import { tryParseJson } from '../../src/lib/json.ts';
import { askHere, localFile } from '../../src/local-api/ask.ts';
import { type PlaneStatus, writePlaneStatus } from '../../src/plane/status-file.ts';
import { sharedEnd } from '../console/support.ts';
import { type Cell, startCell } from '../support/cell.ts';
import { startTestReference } from '../support/house.ts';
import { type CliHouse, startCliHouse } from './house.ts';

/** Nobody listens at the discard port. */
const NOWHERE = 'postgresql://plane:canary-5f1@127.0.0.1:9/plane';

const { atEnd, end } = sharedEnd();
afterAll(end);

const local = z.object({ url: z.string(), token: z.string() });
const findings = z.object({
  checks: z.array(
    z.object({
      check: z.string(),
      grade: z.string(),
      text: z.string(),
      advice: z.string().optional(),
    }),
  ),
});

async function planeIn(house: CliHouse) {
  const { stdout } = await house.call('doctor', '--offline', '--json');
  return findings.parse(JSON.parse(stdout)).checks.filter(({ check }) => check === 'plane');
}

function localOf(dataDir: string) {
  return local.parse(tryParseJson(readFileSync(localFile(dataDir), 'utf8')));
}

async function metricsOf(dataDir: string): Promise<string> {
  const { text } = await askHere(`${localOf(dataDir).url}/metrics`, { headersTimeout: 60_000 });
  return text;
}

describe('without a plane in the configuration', () => {
  let house: CliHouse;
  beforeAll(async () => {
    house = await startCliHouse(await startTestReference({}, systemClock(), atEnd), {}, atEnd);
  });

  it('each command says where it is described, and nothing else tells of it', async () => {
    for (const args of [
      ['plane', 'init'],
      ['plane', 'run'],
      ['plane', 'verify'],
      ['plane', 'rebuild'],
      ['plane', 'grant-reader', 'bi'],
      ['fleet', 'status'],
    ]) {
      const { code, stderr } = await house.call(...args);
      expect([args, code, stderr]).toEqual([
        args,
        78,
        expect.stringMatching(/plane\.url is not set/),
      ]);
      expect(stderr).toContain('hint: docs/operating/plane.md');
    }
    expect(await planeIn(house)).toEqual([]);
    const { stdout } = await house.call('status');
    expect(stdout).not.toMatch(/plane/);
    const { dataDir } = z
      .object({ dataDir: z.string() })
      .parse({ dataDir: house.daemon.store.path.replace(/\/mirror\.db$/, '') });
    expect(await metricsOf(dataDir)).not.toMatch(/^selvedge_plane_lag_seconds \S/m);
  });
});

describe('with a plane in the configuration', () => {
  let cell: Cell;

  beforeAll(async () => {
    const reference = await startTestReference({}, systemClock(), atEnd);
    cell = await startCell(reference, { account: 'acme', url: NOWHERE, atEnd });
  });

  const ask = (action: string, token?: string) =>
    askHere(`${localOf(cell.config.dataDir).url}/api/plane/${action}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify({ actor: 'test', reason: '' }),
      headersTimeout: 60_000,
    });

  function tell(status: Partial<PlaneStatus>): void {
    const now = { at: systemClock().now() };
    const told = { ...now, account: 'acme', seq: 5, ledgerSeq: 5, lagMs: 0 };
    writePlaneStatus(cell.config.dataDir, { ...told, state: 'following', ...status });
  }

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
    expect((await ask('init')).statusCode).toBe(401);
    const { token } = localOf(cell.config.dataDir);
    expect(JSON.parse((await ask('init', token)).text)).toEqual({ before: 'absent', now: 'whole' });
    expect(JSON.parse((await ask('init', token)).text)).toEqual({ before: 'whole', now: 'whole' });
    const { stdout } = await cell.call('audit', 'list', '--action', 'plane.');
    expect(stdout.match(/cli:test +plane\.init/g)).toHaveLength(1);
    expect(await planeIn(cell)).toMatchObject([
      { grade: 'warning', text: expect.stringContaining('there is no copy') },
    ]);
  });

  it.each<[string, Partial<PlaneStatus>, string, RegExp, RegExp]>([
    ['a copy that follows', {}, 'ok', /^follows, 0\S* behind \(account acme\)$/, /0$/],
    [
      'a copy that is late',
      { lagMs: 120_000 },
      'warning',
      /more than plane\.lagWarning \(1m\)/,
      /120$/,
    ],
    [
      'a PostgreSQL that refuses us',
      {
        ...{ state: 'waiting', lagMs: 5_000 },
        error: {
          code: 'plane.refused',
          message: 'PostgreSQL: no password',
          hint: 'check plane.url',
        },
      },
      'failed',
      /^waits, \S+ behind: PostgreSQL: no password/,
      /5(\.\d+)?$/,
    ],
    ['a process that is gone', { at: 1_000 }, 'warning', /^its process does not run/, /\d+$/],
  ] as const)(
    '%s is told by doctor, status and metrics',
    async (what, status, grade, text, lag) => {
      tell(status);
      const [finding] = await planeIn(cell);
      expect(finding).toMatchObject({ grade, text: expect.stringMatching(text) });
      expect(finding?.advice === undefined).toBe(grade === 'ok');
      const { stdout } = await cell.call('status');
      expect(stdout).toMatch(/^plane {7}\S/m);
      expect(/^plane +LATE/m.test(stdout)).toBe(/late|gone/.test(what));
      const line = /^selvedge_plane_lag_seconds (.+)$/m;
      await expect
        .poll(async () => line.exec(await metricsOf(cell.config.dataDir))?.[1])
        .toMatch(lag);
    },
  );

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
