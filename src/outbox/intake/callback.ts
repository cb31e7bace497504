/**
 * Callback: an optional command of the ERP that is run at the end of each document, with its
 * receipt, and for each outcome of a delivery. It is run directly (no shell), with JSON on its
 * standard input, and at least once; a failed or slow run is repeated with a growing delay, and
 * given up with a line in the log. Nothing waits for it, because every intake channel has the same
 * receipt.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Clock } from '../../lib/clock.ts';
import { toError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { startProcess } from '../../lib/process/start.ts';
import { endIncidents, updateIncident } from '../../store/incidents.ts';
import type { Store } from '../../store/store.ts';
import { type Outcome, readOutcome } from './outcomes.ts';
import { type Receipt, readReceipt } from './receipt.ts';

interface CallbackSettings {
  readonly command: readonly string[];
  readonly timeoutMs: number;
  readonly attemptsMax: number;
  readonly delayMinMs: number;
  readonly delayMaxMs: number;
}

export interface CallbackDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: CallbackSettings;
}

const POLL_MS = 1_000;
const IDLE_MS = 60_000;
const AT_ONCE_MAX = 4;
const COMPLAINT_CHARS_MAX = 500;

/** Runs the command; resolves when it exits with 0, else rejects with its error output. */
async function runCommand(
  { settings, clock }: CallbackDeps,
  told: Receipt | Outcome,
  signal: AbortSignal,
): Promise<void> {
  const [program = '', ...args] = settings.command;
  // Other environment variables are left out: they may hold secrets.
  const { PATH, HOME, LANG, TZ } = process.env;
  // The command gets its own process group, so that the time limit also ends its children.
  const child = await startProcess(() =>
    spawn(program, args, {
      stdio: ['pipe', 'ignore', 'pipe'],
      env: { PATH, HOME, LANG, TZ },
      detached: true,
    }),
  );
  let complaint = '';
  let reason = '';
  const kill = (why: string): void => {
    reason = why;
    // Children that the command left behind may keep its output open.
    child.stderr.destroy();
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {}
  };
  const onAbort = (): void => kill('the daemon stops');
  const timer = clock.after(settings.timeoutMs, () => kill('it took too long'));
  signal.addEventListener('abort', onAbort, { once: true });
  // The abort signal may have come while the receipt was read, before this listener.
  if (signal.aborted) onAbort();
  child.stderr.on('data', (chunk: Buffer) => {
    complaint = (complaint + chunk.toString()).slice(0, COMPLAINT_CHARS_MAX);
  });
  // A command that does not read its input is no failure by itself.
  child.stdin.on('error', () => undefined);
  child.stdin.end(`${JSON.stringify(told)}\n`);
  const [code, killedBy] = await once(child, 'close');
  timer.cancel();
  signal.removeEventListener('abort', onAbort);
  if (code === 0) return;
  const how = code === null ? `was ended by ${killedBy}` : `ended with ${code}`;
  const parts = [`the command ${how}`, reason, complaint.trim()].filter((part) => part !== '');
  throw new Error(parts.join(': '));
}

interface Due {
  readonly id: number;
  readonly callback_due_at: number | null;
  readonly callback_attempts: number;
}

interface Change {
  readonly callback_due_at: number | null;
  readonly callback_attempts: number;
  readonly callback_error: string | null;
}

/** A database table from which the command is told something: receipts, or outcomes. */
interface Queue {
  /** Name of the row's id in the log. */
  readonly idName: string;
  readonly what: string;
  /** Advice that leads to the untold row. */
  look(id: number): string;
  due(now: number): Promise<readonly Due[]>;
  read(id: number): Promise<Receipt | Outcome | undefined>;
  /** Stores the result of a run; a row that has changed again meanwhile stays due. */
  note(due: Due, change: Change): Promise<void>;
}

function receiptQueue({ store: { db } }: CallbackDeps): Queue {
  return {
    idName: 'documentId',
    what: 'the receipt of document',
    look: (id) => `correct intake.callback; the receipt: selvedge outbox show ${id}`,
    due: (now) =>
      db
        .selectFrom('intake')
        .select(['outbox_id as id', 'callback_due_at', 'callback_attempts'])
        .where('callback_due_at', '<=', now)
        .orderBy('callback_due_at')
        .limit(AT_ONCE_MAX)
        .execute(),
    read: (id) => readReceipt(db, id),
    async note({ id, callback_due_at }, change) {
      const row = db.updateTable('intake').set(change).where('outbox_id', '=', id);
      await row.where('callback_due_at', '=', callback_due_at).execute();
    },
  };
}

function outcomeQueue({ store: { db } }: CallbackDeps): Queue {
  return {
    idName: 'outcomeId',
    what: 'outcome',
    look: () => 'correct intake.callback; the outcome is in the table outcome of exchange.db',
    due: (now) =>
      db
        .selectFrom('outcome')
        .select(['outcome_id as id', 'callback_due_at', 'callback_attempts'])
        .where('callback_due_at', '<=', now)
        .orderBy('callback_due_at')
        .limit(AT_ONCE_MAX)
        .execute(),
    read: (id) => readOutcome(db, id),
    async note({ id, callback_due_at }, change) {
      const row = db.updateTable('outcome').set(change).where('outcome_id', '=', id);
      await row.where('callback_due_at', '=', callback_due_at).execute();
    },
  };
}

/** A receipt or an outcome that nobody was told of: the row has it, and the next is told again. */
const INCIDENT = { kind: 'callback_failed', entity: 'callback' } as const;

async function runDue(
  deps: CallbackDeps,
  queue: Queue,
  due: Due,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log, settings } = deps;
  const told = await queue.read(due.id);
  if (!told) return;
  const attempts = due.callback_attempts + 1;
  const failure = await runCommand(deps, told, signal).then(() => undefined, toError);
  if (!failure) {
    const done = { callback_due_at: null, callback_attempts: attempts, callback_error: null };
    await queue.note(due, done);
    await endIncidents(deps.store.db, INCIDENT, [queue.idName], clock.now());
    return;
  }
  // A run that was interrupted because the daemon stops is repeated after the next start.
  if (signal.aborted) return;
  const error = failure.message;
  const givenUp = attempts >= settings.attemptsMax;
  const delay = Math.min(settings.delayMaxMs, settings.delayMinMs * 2 ** (attempts - 1));
  const again = givenUp ? null : clock.now() + delay;
  const state = { callback_due_at: again, callback_attempts: attempts, callback_error: error };
  await queue.note(due, state);
  const fields = { [queue.idName]: due.id, attempts, error };
  if (givenUp) {
    log.error(fields, 'callback command given up');
    const says = `the callback command was given up for ${queue.what} ${due.id}: ${error}`;
    const detail = { says, advice: queue.look(due.id) };
    await updateIncident(deps.store.db, { ...INCIDENT, key: queue.idName, detail }, clock.now());
  }
  if (!givenUp) log.warn({ ...fields, retryMs: delay }, 'callback command failed');
}

/**
 * Creates the worker that runs the command until the signal aborts; without a command it only ends
 * the incidents of a former one.
 */
export function createCallback(deps: CallbackDeps) {
  const { clock } = deps;
  const queues = [receiptQueue(deps), outcomeQueue(deps)];
  const hasCommand = deps.settings.command.length > 0;
  return {
    name: 'callback',
    async run(signal: AbortSignal): Promise<void> {
      const keys = queues.map(({ idName }) => idName);
      if (!hasCommand) await endIncidents(deps.store.db, INCIDENT, keys, clock.now());
      while (!signal.aborted) {
        if (!hasCommand) {
          await clock.sleep(IDLE_MS, signal).catch(() => undefined);
          continue;
        }
        let more = false;
        for (const queue of queues) {
          const due = await queue.due(clock.now());
          // Waits for all runs, so that none is started again while it still runs.
          const runs = await Promise.allSettled(due.map((one) => runDue(deps, queue, one, signal)));
          for (const one of runs) if (one.status === 'rejected') throw one.reason;
          if (due.length === AT_ONCE_MAX) more = true;
        }
        await clock.sleep(more ? 0 : POLL_MS, signal).catch(() => undefined);
      }
    },
  };
}
