/** What is told of the copy in PostgreSQL, and what where none is configured. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../src/lib/clock.ts';
import { askHere } from '../../src/local-api/ask.ts';
import { type PlaneStatus, writePlaneStatus } from '../../src/plane/status-file.ts';
import { sharedEnd } from '../console/support.ts';
import { type Cell, startCell } from '../support/cell.ts';
import { startTestReference } from '../support/house.ts';
import { type CliHouse, startCliHouse } from './house.ts';
import { askPlane, localOf, NOWHERE, planeIn } from './plane-support.ts';

const { atEnd, end } = sharedEnd();
afterAll(end);

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
    const { dataDir } = cell.config;
    await askPlane(dataDir, 'begin-feed', localOf(dataDir).token);
  });

  function tell(status: Partial<PlaneStatus>): void {
    const now = { at: systemClock().now() };
    const told = { ...now, account: 'acme', seq: 5, ledgerSeq: 5, lagMs: 0 };
    writePlaneStatus(cell.config.dataDir, { ...told, state: 'following', ...status });
  }

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
});
