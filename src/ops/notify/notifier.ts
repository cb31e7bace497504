/**
 * Worker that tells people what waits for them. It makes the messages that are due, and sends each
 * until it has arrived or is given up after a day. A message that left just before the daemon was
 * killed is sent again, with the same id. A channel that fails holds up no other one, and nothing
 * else waits for any of them.
 *
 * Reads what news.ts names; writes `notification`, `notification_told`, the audit, and the incident
 * `notify_failed` while a channel does not work.
 */
import { sql } from 'kysely';
import type { Config } from '../../config/schema.ts';
import { RefusedError, toError } from '../../lib/errors.ts';
import { tryParseJson } from '../../lib/json.ts';
import type { Logger } from '../../lib/log.ts';
import type { Scrubber } from '../../lib/secret.ts';
import { writeAudit } from '../../store/audit.ts';
import { reconcileIncidents } from '../../store/incidents.ts';
import { type SendDeps, send } from './channel.ts';
import {
  beginTelling,
  type Channel,
  type DigestDeps,
  endDigest,
  endTelling,
  isQuiet,
} from './digest.ts';
import { messageSchema } from './message.ts';

export interface NotifierDeps extends DigestDeps, Omit<SendDeps, 'signal'> {
  readonly log: Logger;
  /** Removes secrets from the text of an error. */
  readonly scrub: Scrubber['scrub'];
}

const LOOK_MS = 30_000;
const RETRY_MS_MIN = 60_000;
const RETRY_MS_MAX = 3_600_000;
const GIVE_UP_MS = 86_400_000;
/** Failed tries of a message from which its channel gets an incident; fewer pass by themselves. */
const FAILURES_TOLD = 3;

const NOTIFY_FAILED = { kind: 'notify_failed', entity: 'channel' } as const;

/** Channels of the configuration, with their defaults filled in. */
export function channelsOf({ notify }: Pick<Config, 'notify'>): readonly Channel[] {
  return notify.channels.map(({ name, on, to, caFile, digest, quiet }) => ({
    name,
    on,
    to,
    caFile,
    digestMs: digest ?? notify.digest,
    quiet: quiet === undefined ? notify.quiet : quiet,
  }));
}

interface Waiting {
  readonly notification_id: number;
  readonly is_urgent: number;
  readonly at: number;
  readonly message: string;
  readonly attempts: number;
}

interface Tried {
  readonly error: string | undefined;
  readonly note: string | undefined;
  /** Another try cannot help. */
  readonly isFinal: boolean;
}

/** Ends one try of a message: writes its row and the audit in one transaction. */
async function endTry(
  { store, clock }: NotifierDeps,
  channel: Channel,
  row: Waiting,
  { error, note, isFinal }: Tried,
): Promise<'delivered' | 'given_up' | 'waiting'> {
  const now = clock.now();
  const attempts = row.attempts + 1;
  const kept = isFinal || now - row.at >= GIVE_UP_MS ? 'given_up' : 'waiting';
  const state = error === undefined ? 'delivered' : kept;
  const delay = Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** (attempts - 1));
  const ended = { due_at: now + delay, ended_at: state === 'waiting' ? null : now };
  await store.transaction(async (tx) => {
    await tx
      .updateTable('notification')
      .set({ ...ended, state, attempts, last_error: error ?? null })
      .where('notification_id', '=', row.notification_id)
      .execute();
    if (state === 'waiting') return;
    const { subject, causes } = messageSchema.parse(tryParseJson(row.message));
    const told = causes.map(({ event, cause, count }) => ({ event, cause, count }));
    const detail = { notificationId: row.notification_id, attempts, told, error, note };
    const action = state === 'delivered' ? 'notify.send' : 'notify.give_up';
    const about = { action, subject: `channel:${channel.name}`, detail };
    await writeAudit(tx, { actor: 'daemon', reason: subject, ...about }, now);
  });
  return state;
}

async function deliver(
  deps: NotifierDeps,
  channel: Channel,
  row: Waiting,
  signal: AbortSignal,
): Promise<void> {
  const { log, instance, scrub } = deps;
  const id = `${instance}_${row.at}_${row.notification_id}`;
  const message = messageSchema.parse(tryParseJson(row.message));
  const sending = { id, at: row.at, instance, message, isTest: false };
  let [error, note]: (string | undefined)[] = [];
  let isFinal = false;
  try {
    note = await send({ ...deps, signal }, channel, sending);
  } catch (thrown) {
    // A try that our own stop interrupted does not count as a failure.
    if (signal.aborted) return;
    error = scrub(toError(thrown).message);
    isFinal = thrown instanceof RefusedError;
  }
  const state = await endTry(deps, channel, row, { error, note, isFinal });
  const about = { channel: channel.name, notificationId: row.notification_id };
  if (state === 'delivered') log.info({ ...about, note }, 'people were told');
  else if (state === 'given_up') log.error({ ...about, error }, 'a message was given up');
  else if (row.attempts === 0) log.warn({ ...about, error }, 'a message has to wait');
  else log.debug({ ...about, error }, 'a message still waits');
}

async function tendChannel(
  deps: NotifierDeps,
  channel: Channel,
  signal: AbortSignal,
): Promise<void> {
  const { store, clock, timeZone } = deps;
  await endDigest(deps, channel, clock.now());
  const now = clock.now();
  const rows = await store.db
    .selectFrom('notification')
    .select(['notification_id', 'is_urgent', 'at', 'message', 'attempts'])
    .where('channel', '=', channel.name)
    // As the text of its index; by the number it would be all messages there ever were.
    .where('state', '=', sql.lit('waiting'))
    .where('due_at', '<=', now)
    .orderBy(sql`+notification_id`)
    .execute();
  const quiet = isQuiet(channel, timeZone(), now);
  const due = rows.filter((row) => !quiet || row.is_urgent === 1);
  for (const row of due) if (!signal.aborted) await deliver(deps, channel, row, signal);
}

/** Opens an incident for each channel whose last message failed again and again. */
async function tellFailing({ store, clock }: NotifierDeps, channels: readonly Channel[]) {
  const wanted = [];
  for (const { name } of channels) {
    const last = await store.db
      .selectFrom('notification')
      .select(['state', 'attempts', 'last_error'])
      .where('channel', '=', name)
      .orderBy('notification_id', 'desc')
      .limit(1)
      .executeTakeFirst();
    if (!last || last.state === 'delivered') continue;
    if (last.state === 'waiting' && last.attempts < FAILURES_TOLD) continue;
    const hint = '"selvedge notify test" tries it';
    wanted.push({ ...NOTIFY_FAILED, key: name, detail: { error: last.last_error, hint } });
  }
  await reconcileIncidents(store.db, [NOTIFY_FAILED.kind], wanted, clock.now());
}

/** Gives up the waiting messages of channels that are no longer configured. */
async function dropOthers({ store, clock }: NotifierDeps, channels: readonly Channel[]) {
  const now = clock.now();
  const names = channels.map(({ name }) => name);
  const gone = { state: 'given_up', ended_at: now, last_error: 'no such channel' } as const;
  const waiting = store.db
    .updateTable('notification')
    .set(gone)
    .where('state', '=', sql.lit('waiting'));
  const others = names.length === 0 ? waiting : waiting.where('channel', 'not in', names);
  await others.execute();
}

export async function tendNotifications(
  deps: NotifierDeps,
  channels: readonly Channel[],
  signal: AbortSignal,
): Promise<void> {
  const tended = channels.map((channel) => tendChannel(deps, channel, signal));
  for (const one of await Promise.allSettled(tended)) {
    if (one.status === 'rejected') throw one.reason;
  }
  if (!signal.aborted) await tellFailing(deps, channels);
}

/** Creates the worker; without channels it only gives up messages of former ones. */
export function createNotifier(deps: NotifierDeps, channels: readonly Channel[]) {
  const { store, clock } = deps;
  return {
    name: 'notify',
    async run(signal: AbortSignal): Promise<void> {
      await dropOthers(deps, channels);
      await endTelling(store, channels);
      for (const channel of channels) await beginTelling(store, channel, clock.now());
      while (!signal.aborted) {
        await tendNotifications(deps, channels, signal);
        await clock.sleep(LOOK_MS, signal).catch(() => undefined);
      }
    },
  };
}
