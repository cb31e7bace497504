/**
 * Decides what a channel is told and when: one message at the end of a digest, which begins with
 * the first thing that is not told yet; in quiet hours only unknown outcomes are told. The message
 * and the time up to which the channel is told are written in one transaction, so that a restart
 * loses and repeats nothing.
 */
import { sql } from 'kysely';
import { NOTIFY_EVENTS, type NotifyEvent, type QuietHours } from '../../config/schema/notify.ts';
import { localClockOf } from '../../lib/local-time.ts';
import type { Db, Store, Tx } from '../../store/store.ts';
import type { ChannelConfig } from './channel.ts';
import { composeMessage } from './message.ts';
import { firstNews, type News, readNews, type Span } from './news.ts';

export interface DigestDeps {
  readonly store: Store;
  readonly instance: string;
  /** Time zone of quiet hours and of times in messages. */
  readonly timeZone: () => string;
}

export interface Channel {
  readonly name: string;
  readonly on: readonly NotifyEvent[];
  readonly to: ChannelConfig['to'];
  readonly caFile?: ChannelConfig['caFile'];
  readonly digestMs: number;
  readonly quiet: QuietHours | null;
}

/**
 * Milliseconds that news wait to be told: a row gets the time of a moment before it is committed,
 * so a later look could miss it.
 */
const SETTLE_MS = 30_000;
/** Events that are told in quiet hours, too. */
const URGENT: readonly NotifyEvent[] = ['unknown_outcome'];

export function isQuiet({ quiet }: Pick<Channel, 'quiet'>, timeZone: string, now: number): boolean {
  if (quiet === null) return false;
  const { from, to } = quiet;
  const { time } = localClockOf(timeZone)(now);
  return from < to ? from <= time && time < to : from <= time || time < to;
}

/**
 * Deletes the marks of channels that are gone, and of events that a channel does not name any more.
 * A channel that names an event again is told of it from then on.
 */
export async function endTelling(
  { db }: Pick<Store, 'db'>,
  channels: readonly Pick<Channel, 'name' | 'on'>[],
): Promise<void> {
  const told = await db.selectFrom('notification_told').select(['channel', 'event']).execute();
  for (const { channel, event } of told) {
    const isTold = channels.some(({ name, on }) => name === channel && on.some((e) => e === event));
    if (isTold) continue;
    await db
      .deleteFrom('notification_told')
      .where('channel', '=', channel)
      .where('event', '=', event)
      .execute();
  }
}

/** Starts the channel's news at `now`: nothing from before is told. */
export async function beginTelling(store: Store, { name, on }: Channel, now: number) {
  const values = on.map((event) => ({ channel: name, event, until: now }));
  await store.db
    .insertInto('notification_told')
    .values(values)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/**
 * Time span of the news that are not told yet. The outcome of most pushes is known within minutes,
 * so a push is told only when its outcome has been unknown for the length of a digest.
 */
function spanOf(event: NotifyEvent, after: number, { digestMs }: Channel, now: number): Span {
  return { after, until: now - (event === 'unknown_outcome' ? digestMs : SETTLE_MS) };
}

async function toldUntil(db: Db | Tx, { name }: Channel): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('notification_told')
    .select(['event', 'until'])
    .where('channel', '=', name)
    .execute();
  return new Map(rows.map(({ event, until }) => [event, until]));
}

type Spans = ReadonlyMap<NotifyEvent, Span>;

async function isDue(db: Db, spans: Spans, { digestMs }: Channel, now: number): Promise<boolean> {
  for (const [event, span] of spans) {
    const first = await firstNews(db, event, span);
    if (first !== undefined && first + digestMs <= now) return true;
  }
  return false;
}

/**
 * Whether a message of the channel is still on its way, for which the next one waits; in quiet
 * hours only an urgent one counts.
 */
async function isWaiting(db: Db, channel: string, quiet: boolean): Promise<boolean> {
  const row = await db
    .selectFrom('notification')
    .select('notification_id')
    .where('channel', '=', channel)
    .where('is_urgent', 'in', quiet ? [1] : [0, 1])
    .where('state', '=', sql.lit('waiting'))
    .executeTakeFirst();
  return row !== undefined;
}

async function put(tx: Tx, channel: Channel, isUrgent: boolean, message: object, now: number) {
  const values = { channel: channel.name, is_urgent: Number(isUrgent), message };
  const times = { at: now, due_at: now, last_error: null, ended_at: null };
  await tx
    .insertInto('notification')
    .values({ ...values, ...times, message: JSON.stringify(message) })
    .execute();
}

async function tell(tx: Tx, { name }: Channel, spans: Spans): Promise<void> {
  for (const [event, { until }] of spans) {
    await tx
      .updateTable('notification_told')
      .set({ until })
      .where('channel', '=', name)
      .where('event', '=', event)
      .where('until', '<', until)
      .execute();
  }
}

/** Makes the channel's next message, if one is due. */
export async function endDigest(deps: DigestDeps, channel: Channel, now: number): Promise<void> {
  const { store, instance } = deps;
  const timeZone = deps.timeZone();
  const quiet = isQuiet(channel, timeZone, now);
  if (await isWaiting(store.db, channel.name, quiet)) return;
  const told = await toldUntil(store.db, channel);
  const events = NOTIFY_EVENTS.filter((event) => channel.on.includes(event));
  const spans: Spans = new Map(
    events
      .filter((event) => !quiet || URGENT.includes(event))
      .map((event) => [event, spanOf(event, told.get(event) ?? now, channel, now)]),
  );
  if (!(await isDue(store.db, spans, channel, now))) return;
  const news: News[] = [];
  for (const [event, span] of spans) news.push(...(await readNews(store.db, event, span)));
  if (news.length === 0) return;
  const reader = { instance, timeZone, localTime: localClockOf(timeZone) };
  const message = composeMessage(news, reader);
  const isUrgent = news.some(({ event }) => URGENT.includes(event));
  await store.transaction(async (tx) => {
    await put(tx, channel, isUrgent, message, now);
    await tell(tx, channel, spans);
  });
}
