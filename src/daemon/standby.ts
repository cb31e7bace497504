/**
 * Joins the standby's parts with the daemon: the lease is taken before the database is opened, and
 * the record follows what is committed. Without `standby.servers` none of this is made.
 */
import type { SentFor } from '../client/http/request.ts';
import type { Permits } from '../client/transport.ts';
import type { Config } from '../config/schema.ts';
import { type Clock, systemUptime } from '../lib/clock.ts';
import { RetryLaterError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import type { Random } from '../lib/random.ts';
import {
  beginFeed,
  endFeed,
  forgetKept,
  isOfFeed,
  openFeed,
  readPlace,
} from '../standby/feed.ts';
import { createHolder, type Holder } from '../standby/holder.ts';
import { openMemory } from '../standby/memory.ts';
import { createRecord, type Recorder } from '../standby/record.ts';
import { createServers, type Servers } from '../standby/session.ts';
import { type StandbySettings, standbySettingsOf } from '../standby/settings.ts';
import type { Keep } from '../store/keep.ts';
import { type SqliteStore, storeOptions } from '../store/store.ts';
import type { Worker } from './supervisor.ts';

interface LeaseDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** A lease that was taken, before the database is open. */
interface Taken {
  readonly settings: StandbySettings;
  readonly servers: Servers;
  readonly holder: Holder;
}

export interface Standby {
  readonly workers: readonly Worker[];
  readonly keep: Keep;
  readonly permit: Permits;
  /** Why nothing may be sent; undefined: it may. */
  whyNot(): string | undefined;
  /** Called when sending begins or ceases to be allowed. */
  onTurn(listener: () => void): void;
  /** Stops sending, waits until PostgreSQL has all, and gives the lease away. */
  handOver(): Promise<void>;
  status: Holder['status'];
  close(): void;
}

/** A random UUID (version 4). */
function uuidFrom(random: Random): string {
  const bytes = random.bytes(16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [[0, 8], [8, 12], [12, 16], [16, 20], [20]].map(([a, b]) => hex.slice(a, b)).join('-');
}

/**
 * Takes the lease of this configuration's account; undefined: it has no standby. Throws
 * `standby.superseded` where another machine holds it.
 */
export async function takeLease(
  config: Config,
  { clock, random, log }: LeaseDeps,
): Promise<Taken | undefined> {
  const settings = standbySettingsOf(config);
  if (settings === undefined) return undefined;
  const memory = openMemory(config.dataDir);
  const servers = createServers({ settings, clock, timelines: memory });
  const room = log.child({ room: 'standby' });
  const draw = () => uuidFrom(random);
  const holder = createHolder({ settings, servers, memory, clock, log: room, draw });
  await holder.begin();
  return { settings, servers, holder };
}

/** Removes what a standby of before has left in the database. */
export async function forgetStandby(store: SqliteStore, triggers: readonly string[]) {
  if (triggers.some(isOfFeed)) await endFeed(store);
}

function permitsOf(holder: Holder, record: Recorder): Permits {
  return async (sentFor: SentFor) => {
    const why = holder.whyNot();
    if (why === undefined) return record.permit(sentFor);
    throw new RetryLaterError('standby.no_permit', `no permit to send: ${why}`, {
      hint: 'it is sent once the lease is renewed: selvedge standby status',
    });
  };
}

/** Without a daemon nothing holds the lease, so that no command may change anything at the service. */
export function permitsOffline({ standby }: Pick<Config, 'standby'>): Permits | undefined {
  if (standby.servers.length === 0) return undefined;
  return () =>
    Promise.reject(
      new RetryLaterError('standby.no_permit', 'only the daemon that holds the lease may send', {
        hint: 'start the daemon, and do it through that',
      }),
    );
}

const LOOK_MS = 100;
/** An answer may take as long as the deadlines of the client allow. */
const SENDING_MS_MAX = 120_000;

/** Waits until each request that was begun has its outcome. */
async function untilNothingIsSent({ db }: SqliteStore, clock: Clock): Promise<void> {
  const begunAt = clock.monotonic();
  for (;;) {
    const sending = await db
      .selectFrom('outbox')
      .select('outbox_id')
      .where('state', '=', 'sending')
      .where('ended_at', 'is', null)
      .executeTakeFirst();
    if (sending === undefined) return;
    if (clock.monotonic() - begunAt > SENDING_MS_MAX) {
      throw new RetryLaterError('standby.sending', `push ${sending.outbox_id} is still being sent`);
    }
    await clock.sleep(LOOK_MS);
  }
}

/** Begins the record of this database. */
export async function openStandby(
  config: Config,
  { settings, servers, holder }: Taken,
  { store, clock, random, log }: LeaseDeps & { readonly store: SqliteStore },
): Promise<Standby> {
  await beginFeed(store, clock, uuidFrom(random));
  const feed = openFeed(storeOptions(config));
  const listeners: (() => void)[] = [];
  const onTurn = (): void => {
    for (const listener of listeners) listener();
  };
  const record = createRecord({
    settings,
    servers,
    feed,
    clock,
    onTurn,
    holding: holder.holding.bind(holder),
    onFenced: () => holder.look(),
    clocks: { clock, uptime: systemUptime },
    log: log.child({ room: 'standby' }),
    place: await readPlace(store.db),
    forget: (kept) => forgetKept(store, clock, kept),
  });
  holder.onTurn(onTurn);
  holder.tellWith(() => ({ ...record.state(), error: record.trouble() }));
  let isHandedOver = false;
  return {
    workers: [holder, record],
    keep: () => record.kept(),
    permit: permitsOf(holder, record),
    whyNot: () =>
      isHandedOver ? 'the lease is being given away' : (holder.whyNot() ?? record.trouble()?.message),
    onTurn: (listener) => void listeners.push(listener),
    async handOver() {
      isHandedOver = true;
      try {
        await untilNothingIsSent(store, clock);
        if ((await record.settled()) === 'kept') return await holder.giveAway();
        throw new RetryLaterError('standby.not_kept', 'PostgreSQL does not have all yet', {
          hint: 'nothing was given away; try again once "selvedge standby status" shows 0 waiting',
        });
      } catch (thrown) {
        isHandedOver = false;
        onTurn();
        throw thrown;
      }
    },
    status: () => holder.status(),
    close: () => feed.close(),
  };
}
