/**
 * List of people's acts beside the backups, one JSON line each. A backup does not know what people
 * held, rejected or paused since, and the lost database was the only one that knew. The list has no
 * reasons, since these may name customers.
 */
import { existsSync, readFileSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sql } from 'kysely';
import { z } from 'zod';
import type { Clock } from '../../lib/clock.ts';
import { errorCode, toError } from '../../lib/errors.ts';
import { tryParseJson } from '../../lib/json.ts';
import type { Logger } from '../../lib/log.ts';
import { makeFolder } from '../folders.ts';
import { readState, writeState } from '../state.ts';
import type { Store } from '../store.ts';
import { listBackups, mayBeSame } from './manifest.ts';

const act = z.object({
  /** Time at which the database was made, which tells databases apart. */
  database: z.string().optional(),
  at: z.int(),
  actor: z.string(),
  action: z.string(),
  /** Object of the act, as in `delivery:500044`. */
  subject: z.string(),
  /** Whether a release gave the delivery back to the rules. */
  toRules: z.boolean().optional(),
});

/** An act of a person, as the audit has it. */
type PastAct = z.output<typeof act>;

const NAME = 'acts.jsonl';

/** Acts that a restore asks about. */
const LISTED = sql<boolean>`(action like 'delivery.%' or action like 'rules.%'
  or action in ('pause', 'resume', 'outbox.cancel'))`;

const WRITTEN_KEY = 'acts_listed';
const EVERY_MS = 2_000;
const ROWS_MAX = 500;

/** Acts that were listed beside backups. */
export interface ListedActs {
  /** Acts in their order, each once. */
  readonly acts: readonly PastAct[];
  /** Number of lines that cannot be read. */
  readonly unreadable: number;
}

/** Reads the lists of these folders; undefined: there is none. */
export function readActs(
  directories: readonly string[],
  madeAt: string | undefined,
): ListedActs | undefined {
  const files = directories.map((directory) => join(directory, NAME)).filter(existsSync);
  if (files.length === 0) return undefined;
  const lines = new Set(files.flatMap((file) => readFileSync(file, 'utf8').split('\n')));
  lines.delete('');
  const read = [...lines].map((line) => act.safeParse(tryParseJson(line)).data);
  const acts = read.filter((one) => one !== undefined);
  return {
    acts: acts.filter(({ database }) => mayBeSame(database, madeAt)),
    unreadable: read.length - acts.length,
  };
}

async function write(file: string, text: string, flags: 'a' | 'w'): Promise<void> {
  makeFolder(dirname(file), 0o700);
  await using handle = await open(file, flags, 0o600);
  await handle.writeFile(text);
  await handle.sync();
}

export interface ActsLogDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** Folder of the backups. */
  readonly directory: string;
  /** Time at which the database was made. */
  readonly madeAt: string | undefined;
}

/** Time of the oldest backup of this database, epoch ms; undefined: there is none. */
function oldestBackup({ directory, clock, madeAt }: ActsLogDeps): number | undefined {
  const oldest = listBackups(directory, clock.now(), undefined, madeAt).at(-1);
  return oldest && Date.parse(oldest.manifest.createdAt);
}

/** Drops acts of before the oldest backup, which no restore asks for. */
async function dropOld(deps: ActsLogDeps): Promise<false> {
  const file = join(deps.directory, NAME);
  const before = oldestBackup(deps);
  if (before === undefined || !existsSync(file)) return false;
  const lines = readFileSync(file, 'utf8').split('\n').slice(1);
  const kept = lines.filter((line) => {
    const { data } = act.safeParse(tryParseJson(line));
    return data === undefined || data.database !== deps.madeAt || data.at >= before;
  });
  if (kept.length === lines.length) return false;
  await write(`${file}.partial`, kept.map((line) => `\n${line}`).join(''), 'w');
  await rename(`${file}.partial`, file);
  return false;
}

/** Appends the acts since the last time, if any. Gives whether there may be more. */
async function append(deps: ActsLogDeps): Promise<boolean> {
  const { store, clock, directory, madeAt } = deps;
  const { db } = store;
  const written = Number((await readState(db, WRITTEN_KEY)) ?? 0);
  const found = await sql<{ id: number | null }>`select max(id) id from audit`.execute(db);
  const newest = found.rows[0]?.id ?? 0;
  if (newest <= written) return false;
  const file = join(directory, NAME);
  const isThere = existsSync(file);
  // A list that is new, or was lost, begins at the oldest backup; without one nobody asks for it.
  const from = isThere ? 0 : (oldestBackup(deps) ?? Number.MAX_SAFE_INTEGER);
  const rows = await db
    .selectFrom('audit')
    .select(['id', 'at', 'actor', 'action', 'subject'])
    .select(sql<number | null>`detail ->> '$.toRules'`.as('toRules'))
    .where('id', '>', isThere ? written : 0)
    .where('at', '>=', from)
    .where(LISTED)
    .orderBy('id')
    .limit(ROWS_MAX)
    .execute();
  const isMore = rows.length === ROWS_MAX;
  // Each line begins with its line feed, so that one that was torn by a crash costs itself alone.
  const lines = rows.map(({ id: _id, toRules, ...row }) => {
    return `\n${JSON.stringify({ database: madeAt, ...row, toRules: toRules === 1 || undefined })}`;
  });
  if (lines.length > 0) await write(file, lines.join(''), 'a');
  else if (!isThere) return false;
  // A crash before this writes them twice, which readers take for once.
  await writeState(db, WRITTEN_KEY, String(isMore ? rows.at(-1)?.id : newest), clock);
  return isMore;
}

/** Worker that keeps the list; a failure is logged once, and tried again. */
export function createActsLog(deps: ActsLogDeps) {
  const { clock, log } = deps;
  let failed: string | undefined;
  const attempt = async (work: () => Promise<boolean>): Promise<boolean> => {
    try {
      const isMore = await work();
      failed = undefined;
      return isMore;
    } catch (thrown) {
      const code = errorCode(thrown);
      if (code !== failed)
        log.warn({ err: toError(thrown) }, 'cannot list acts beside the backups');
      failed = code;
      return false;
    }
  };
  return {
    name: 'acts-log',
    async run(signal: AbortSignal): Promise<void> {
      await attempt(() => dropOld(deps));
      while (!signal.aborted) {
        if (await attempt(() => append(deps))) continue;
        await clock.sleep(EVERY_MS, signal).catch(() => undefined);
      }
      await attempt(() => append(deps));
    },
  };
}
