/**
 * The kill switch of the decisions: by command, through the local API, or by a file named
 * `decisions.stop` in the data folder, for when nothing else answers. While it is on, decisions are
 * journaled in the mode `stopped` and nothing about a delivery is sent, a person's wish neither.
 *
 * It takes hold at once: the next decision and the next push see it. What the rules had accepted
 * and was not sent yet is canceled, because it may be the very reason, and what was on its way is
 * not sent again; once the switch is off, everything is decided anew. It outlives restarts: a row
 * in the database says so, with the name of who stopped and why, and the audit keeps both.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../lib/clock.ts';
import { RefusedError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { DELIVERY_STATUS_KIND } from '../../outbox/enqueue.ts';
import { type Asker, writeAudit } from '../../store/audit.ts';
import {
  DECISIONS_STOP_KEY,
  type DecisionsStop,
  readDecisionsStop,
  writeStateAt,
} from '../../store/state.ts';
import type { Store } from '../../store/store.ts';
import { cancelUnsent } from './unsent.ts';

export interface KillSwitch {
  /** Who stopped the decisions; undefined while they run. */
  stopped(): DecisionsStop | undefined;
  /** Why nothing of this kind may be sent; undefined: it may. */
  brake(kind: string): string | undefined;
  /** Throws RefusedError when they are stopped already. */
  stop(asker: Asker): Promise<DecisionsStop>;
  /** Gives what it ended; throws RefusedError when they run, or when the file is there. */
  resume(asker: Asker): Promise<DecisionsStop>;
  /** Makes durable what the file says. */
  followFile(): Promise<void>;
}

export interface KillSwitchDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly dataDir: string;
}

/** Its presence stops the decisions; what it says is the reason. */
export function stopFile(dataDir: string): string {
  return join(dataDir, 'decisions.stop');
}

const FILE_ACTOR = 'file';
const REASON_CHARS_MAX = 500;

function reasonIn(file: string): string {
  try {
    const text = readFileSync(file, 'utf8').trim().slice(0, REASON_CHARS_MAX);
    return text || 'the file decisions.stop is there';
  } catch {
    return 'the file decisions.stop is there';
  }
}

function reasonOf({ actor, reason }: DecisionsStop): string {
  return `${actor} stopped the decisions: ${reason}`;
}

async function writeStop(store: Store, stop: DecisionsStop): Promise<number> {
  return store.transaction(async (tx) => {
    await writeStateAt(tx, DECISIONS_STOP_KEY, JSON.stringify(stop), stop.at);
    const canceled = await cancelUnsent(tx, reasonOf(stop), stop.at);
    const act = { action: 'decisions.stop', subject: 'decisions', detail: { canceled } };
    await writeAudit(tx, { ...stop, ...act }, stop.at);
    return canceled;
  });
}

async function deleteStop(store: Store, asker: Asker, stop: DecisionsStop, at: number) {
  await store.transaction(async (tx) => {
    // A later one may have been written down in the meantime.
    if (isDeepStrictEqual(await readDecisionsStop(tx), stop)) {
      await tx.deleteFrom('daemon_state').where('key', '=', DECISIONS_STOP_KEY).execute();
    }
    // What was on its way when they were stopped may have come back unsent since.
    const canceled = await cancelUnsent(tx, reasonOf(stop), at);
    const act = { action: 'decisions.resume', subject: 'decisions', detail: { stop, canceled } };
    await writeAudit(tx, { ...asker, ...act }, at);
  });
}

export async function openKillSwitch(deps: KillSwitchDeps): Promise<KillSwitch> {
  const { store, clock, log } = deps;
  const file = stopFile(deps.dataDir);
  let current = await readDecisionsStop(store.db);
  /** Its end is being written down: it holds still, and may be thrown anew. */
  let ending: DecisionsStop | undefined;
  const stopped = (): DecisionsStop | undefined => {
    if (current !== undefined || !existsSync(file)) return current;
    return { at: clock.now(), actor: FILE_ACTOR, reason: reasonIn(file) };
  };
  const stop = async ({ actor, reason }: Asker): Promise<DecisionsStop> => {
    if (current && current !== ending) {
      const message = `${current.actor} has stopped them already: ${current.reason}`;
      throw new RefusedError('decisions.stopped', message);
    }
    const before = current;
    const thrown = { at: clock.now(), actor, reason };
    // Before it is written: what is about to be sent must not slip through.
    current = thrown;
    let canceled: number;
    try {
      canceled = await writeStop(store, thrown);
    } catch (error) {
      // Whoever is told that it failed may try again, and nothing else says that it holds.
      const written = await readDecisionsStop(store.db).catch(() => before);
      if (current === thrown) current = isDeepStrictEqual(written, before) ? before : written;
      throw error;
    }
    log.warn({ actor, reason, canceled }, 'the decisions are stopped');
    return thrown;
  };
  const resume = async (asker: Asker): Promise<DecisionsStop> => {
    if (existsSync(file)) {
      const hint = `remove ${file}`;
      throw new RefusedError('decisions.stop_file', 'the file decisions.stop is there', { hint });
    }
    if (!current || current === ending) {
      throw new RefusedError('decisions.not_stopped', 'they are not stopped');
    }
    const ended = current;
    ending = ended;
    try {
      await deleteStop(store, asker, ended, clock.now());
      if (current === ended) current = undefined;
    } finally {
      if (ending === ended) ending = undefined;
    }
    log.warn({ ...asker }, 'the decisions go on');
    return ended;
  };
  return {
    ...{ stopped, stop, resume },
    brake(kind) {
      const by = kind === DELIVERY_STATUS_KIND ? stopped() : undefined;
      return by && reasonOf(by);
    },
    async followFile() {
      const isThere = existsSync(file);
      if (isThere && !current) await stop({ actor: FILE_ACTOR, reason: reasonIn(file) });
      if (!isThere && current?.actor === FILE_ACTOR && current !== ending) {
        await resume({ actor: FILE_ACTOR, reason: 'the file decisions.stop is gone' });
      }
    },
  };
}
