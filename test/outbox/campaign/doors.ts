/**
 * The four doors as programs of an ERP use them while the daemon is killed under their hands: who
 * gets no answer submits the same again, and each ends when everything is taken.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { z } from 'zod';
import type { Clock } from '../../../src/lib/clock.ts';
import { EXIT } from '../../../src/lib/errors.ts';
import { runCommand } from '../../support/daemon-process.ts';

export interface Paper {
  readonly kind: 'order' | 'pending_refund';
  readonly reference: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

export interface DoorSettings {
  readonly folder: string;
  readonly config: string;
  readonly token: string;
  readonly clock: Clock;
}

/** Submits everything in this order; gives what was not taken, and why. */
export type Door = (papers: readonly Paper[], name: string) => Promise<string[]>;

export const DOORS = ['sql', 'folder', 'http', 'cli'] as const;
export type DoorName = (typeof DOORS)[number];

const PER_TRANSACTION = 25;
const PER_FILE = 50;
const PER_PUSH = 250;
const PAUSE_MS = 100;
/** How long the ERP waits for the lock of the exchange file. */
const LOCKED_MS_MAX = 60_000;

function* slices<T>(all: readonly T[], size: number): Generator<readonly T[]> {
  for (let from = 0; from < all.length; from += size) yield all.slice(from, from + size);
}

function linesOf(papers: readonly Paper[]): string {
  return papers.map((paper) => JSON.stringify(paper)).join('\n');
}

/**
 * Waits for the lock without blocking this process: it must wake the frozen daemon that may hold
 * it.
 */
async function onceFree<T>(clock: Clock, work: () => T): Promise<T> {
  const since = clock.monotonic();
  for (;;) {
    try {
      return work();
    } catch (thrown) {
      const isBusy =
        thrown instanceof Database.SqliteError && thrown.code.startsWith('SQLITE_BUSY');
      if (!isBusy || clock.monotonic() - since > LOCKED_MS_MAX) throw thrown;
    }
    await clock.sleep(PAUSE_MS);
  }
}

function sqlDoor({ folder, clock }: DoorSettings): Door {
  return async (papers) => {
    const exchange = new Database(join(folder, 'data', 'exchange.db'), { timeout: PAUSE_MS });
    const { insert, waiting, refused } = await onceFree(clock, () => ({
      insert: exchange.prepare('insert into intake (kind, reference, payload) values (?, ?, ?)'),
      waiting: exchange.prepare("select 1 from receipt where state = 'waiting' limit 1"),
      refused: exchange
        .prepare<[], string>(
          "select reference || ' ' || problems from receipt where document_id is null",
        )
        .pluck(),
    }));
    const into = (some: readonly Paper[]): void => {
      for (const { kind, reference, payload } of some) {
        insert.run(kind, reference, JSON.stringify(payload));
      }
    };
    for (const some of slices(papers, PER_TRANSACTION)) {
      await onceFree(clock, () => exchange.transaction(into).immediate(some));
      await clock.sleep(PAUSE_MS);
    }
    while ((await onceFree(clock, () => waiting.get())) !== undefined) await clock.sleep(PAUSE_MS);
    const problems = await onceFree(clock, () => refused.all());
    exchange.close();
    return problems;
  };
}

function folderDoor({ folder, clock }: DoorSettings): Door {
  const inbox = join(folder, 'in');
  return async (papers, name) => {
    const problems: string[] = [];
    const names: string[] = [];
    for (const [index, some] of [...slices(papers, PER_FILE)].entries()) {
      const file = `${name}-${index}.json`;
      writeFileSync(join(inbox, `.${file}.tmp`), linesOf(some));
      renameSync(join(inbox, `.${file}.tmp`), join(inbox, file));
      names.push(file);
      await clock.sleep(PAUSE_MS);
    }
    for (const file of names) {
      while (!existsSync(join(inbox, 'done', file))) {
        if (existsSync(join(inbox, 'refused', file))) {
          problems.push(`${file} was refused`);
          break;
        }
        await clock.sleep(PAUSE_MS);
      }
    }
    return problems;
  };
}

const localSchema = z.object({ url: z.string() });
const PATHS = { order: '/api/orders', pending_refund: '/api/pending-refunds' } as const;
const TAKEN = new Set([200, 202]);
/** Without an answer; not read in time, because the daemon was stopped; not known. */
const AGAIN = new Set([0, 408, 503]);

function httpDoor({ folder, token, clock }: DoorSettings): Door {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const post = async ({ kind, reference, payload }: Paper): Promise<number> => {
    try {
      // The port moves with every start, because nobody here has set it.
      const text = readFileSync(join(folder, 'data', 'local.json'), 'utf8');
      const { url } = localSchema.parse(JSON.parse(text));
      const answer = await fetch(`${url}${PATHS[kind]}`, {
        method: 'POST',
        body: JSON.stringify({ reference, ...payload }),
        headers: { ...headers, 'idempotency-key': `${kind}-${reference}` },
      });
      await answer.text();
      return answer.status;
    } catch {
      return 0;
    }
  };
  return async (papers) => {
    const problems: string[] = [];
    for (const paper of papers) {
      let status = await post(paper);
      while (AGAIN.has(status)) {
        await clock.sleep(PAUSE_MS);
        status = await post(paper);
      }
      if (!TAKEN.has(status)) problems.push(`${paper.reference} was answered with ${status}`);
    }
    return problems;
  };
}

const NOUNS = { order: 'orders', pending_refund: 'refunds' } as const;

/** Exit codes of a command whose daemon was not there, or was killed before it had answered. */
const ENDED_EARLY: readonly (number | null)[] = [EXIT.temporary.code, EXIT.failure.code];

function cliDoor({ folder, config, clock }: DoorSettings): Door {
  const push = async (file: string, noun: string): Promise<string[]> => {
    for (;;) {
      const { code, output } = await runCommand([noun, 'push', file, '--config', config]);
      if (code === 0) return [];
      if (!ENDED_EARLY.includes(code))
        return [`${noun} push ended with ${code}: ${output.slice(0, 500)}`];
      await clock.sleep(PAUSE_MS);
    }
  };
  return async (papers, name) => {
    const problems: string[] = [];
    mkdirSync(join(folder, 'push'), { recursive: true });
    for (const kind of ['order', 'pending_refund'] as const) {
      const own = papers.filter((paper) => paper.kind === kind);
      for (const [index, some] of [...slices(own, PER_PUSH)].entries()) {
        const file = join(folder, 'push', `${name}-${kind}-${index}.ndjson`);
        const documents = some.map(({ reference, payload }) => ({ reference, ...payload }));
        writeFileSync(file, documents.map((document) => JSON.stringify(document)).join('\n'));
        problems.push(...(await push(file, NOUNS[kind])));
      }
    }
    return problems;
  };
}

export function openDoors(settings: DoorSettings): Readonly<Record<DoorName, Door>> {
  return {
    sql: sqlDoor(settings),
    folder: folderDoor(settings),
    http: httpDoor(settings),
    cli: cliDoor(settings),
  };
}
