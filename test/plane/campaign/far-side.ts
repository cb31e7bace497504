/** PostgreSQL and the way there, which all seeds share: its trouble, and its cursor. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../../src/lib/random.ts';
import type { Postgres } from '../../support/postgres.ts';
import type { TcpProxy } from './proxy.ts';

export interface FarSide {
  readonly random: Random;
  readonly postgres: Postgres;
  readonly proxy: TcpProxy;
  readonly account: string;
}

const SETTLE_MS_MAX = 120_000;
const LOOK_MS = 200;

/** Name of the database that all accounts share. */
export const DATABASE = 'plane';

/** How often each kind of trouble struck, or each message was told. */
export type Counts = Record<string, number>;

export function count(counts: Counts, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

/** The end of a seed, whichever kind it is. */
export interface SeedFigures {
  readonly rows: number;
  readonly seq: number;
  readonly trouble: Readonly<Counts>;
  /** Lines of the sinks' logs, by message. */
  readonly told: Readonly<Counts>;
  readonly problems: readonly string[];
}

export type Troubles<World> = Readonly<Record<string, (world: World) => Promise<void>>>;

export const FAR_TROUBLE: Troubles<FarSide> = {
  'PostgreSQL lost power': async ({ postgres, random }) => {
    await postgres.stop('immediate');
    await sleep(random.int(0, 500));
    await postgres.start();
  },
  'connections cut': async ({ proxy, random }) => {
    for (let cuts = random.int(1, 5); cuts > 0; cuts -= 1) {
      proxy.cut();
      await sleep(random.int(10, 100));
    }
  },
  'bytes held back': async ({ proxy, random }) => {
    proxy.delayMs = random.int(20, 200);
    await sleep(random.int(200, 1_500));
    if (random.chance(0.5)) proxy.cut();
    proxy.delayMs = 0;
  },
};

/** Counts the messages of a sink's log. */
export function messagesInto(told: Counts): (line: string) => void {
  return (line) => {
    const [, message] = /"msg":"([^"]+)"/.exec(line) ?? [];
    if (message !== undefined) count(told, message);
  };
}

/** The cursor goes back at most once for each time that the mirror did. */
export function createCursorWatch({ postgres, account }: FarSide) {
  let last = [0, 0];
  let allowed = 0;
  const problems: string[] = [];
  return {
    problems,
    mirrorWentBack(): void {
      allowed += 1;
    },
    look(): void {
      const text = `select seq, ledger_seq from selvedge.plane_cursor where account = '${account}'`;
      const [line = ''] = postgres.sql(text, DATABASE).split('\n');
      if (line === '') return;
      const now = line.split('|').map(Number);
      if (now.some((seq, at) => seq < (last[at] ?? 0))) {
        allowed -= 1;
        if (allowed < 0) problems.push(`the cursor went back: ${last} to ${now}`);
      }
      last = now;
    },
  };
}

interface Found {
  readonly isEqual: boolean;
  readonly seq: number;
  readonly pending: number;
  readonly tables: readonly {
    readonly rows: number;
    readonly missing: number;
    readonly different: number;
    readonly surplus: number;
  }[];
}

/** Asks until the copy has every change and is equal, or for long; a text: why it cannot tell. */
export async function settled(ask: () => Promise<Found | string>): Promise<Found | string> {
  const until = performance.now() + SETTLE_MS_MAX;
  for (;;) {
    const found = await ask();
    const isDone = typeof found !== 'string' && found.isEqual && found.pending === 0;
    if (isDone || performance.now() > until) return found;
    await sleep(LOOK_MS);
  }
}

/** The end of a seed, by its last verdict. */
export function endOf(found: Found | string, { postgres }: FarSide) {
  if (typeof found === 'string') return { rows: 0, seq: 0, problems: [`never settled: ${found}`] };
  const { tables, pending, seq } = found;
  const wrong = tables.filter((one) => one.missing + one.different + one.surplus > 0);
  const text = 'select account, seq from selvedge.change group by 1, 2 having count(*) > 1';
  const doubled = postgres.sql(text, DATABASE).trim();
  return {
    rows: tables.reduce((sum, table) => sum + table.rows, 0),
    seq,
    problems: [
      ...wrong.map((one) => JSON.stringify(one)),
      ...(pending > 0 ? [`never caught up: ${pending} rows are pending`] : []),
      ...(doubled === '' ? [] : [`double entries: ${doubled}`]),
    ],
  };
}
