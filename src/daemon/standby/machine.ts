/**
 * Joins the standby's parts with the daemon: the lease is taken before the database is opened, and
 * the record follows what is committed. Without `standby.servers` none of this is made.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { SentFor } from '../../client/http/request.ts';
import type { Permits } from '../../client/transport.ts';
import type { Config } from '../../config/schema.ts';
import { type Clock, systemUptime } from '../../lib/clock.ts';
import { RetryLaterError, StoreError, SUPERSEDED } from '../../lib/errors.ts';
import type { Random } from '../../lib/random.ts';
import { actorFields } from '../../local-api/actor.ts';
import type { RouteGroup } from '../../local-api/api.ts';
import { version } from '../../ops/version.ts';
import { beginFeed, forgetKept, openFeed, readPlace, renameFeed } from '../../standby/feed.ts';
import { createHolder, type Holder } from '../../standby/holder.ts';
import { type Memory, openMemory } from '../../standby/memory.ts';
import { readOverview, type WaitingSeen, whyNotReady } from '../../standby/overview.ts';
import { isOfOnePast } from '../../standby/past.ts';
import { createRecord, type Recorder } from '../../standby/record.ts';
import { FEED_KEY } from '../../standby/recorded.ts';
import type { Replication } from '../../standby/replication.ts';
import { createServers, type Servers, type Session } from '../../standby/session.ts';
import { type StandbySettings, standbySettingsOf } from '../../standby/settings.ts';
import { placeOfBackups } from '../../standby/trim.ts';
import { TAKE_OVER } from '../../store/backup/taken-over.ts';
import { describePause, type Pause } from '../../store/pauses.ts';
import { readState } from '../../store/state.ts';
import { type SqliteStore, storeOptions } from '../../store/store.ts';
import type { Worker } from '../supervisor.ts';
import { behind, type CatchUpDeps, createCatchUp } from './catch-up.ts';
import { createGiveBack } from './give-back.ts';
import type { Begun, Standby, StandbyDeps } from './parts.ts';

/** A random UUID (version 4). */
export function uuidFrom(random: Random): string {
  const bytes = random.bytes(16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [[0, 8], [8, 12], [12, 16], [16, 20], [20]].map(([a, b]) => hex.slice(a, b)).join('-');
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

type Parts = {
  readonly record: Recorder;
  readonly store: SqliteStore;
  readonly clock: Clock;
};

/** Waits until nothing is sent any more, and PostgreSQL has all. */
async function settle({ record, store, clock }: Parts): Promise<void> {
  await untilNothingIsSent(store, clock);
  if ((await record.settled()) === 'kept') return;
  throw new RetryLaterError('standby.not_kept', 'PostgreSQL does not have all yet', {
    hint: 'nothing was given away; try again once "selvedge standby status" shows that it has',
  });
}

/** Tells what a pause of the take-over waits for. */
async function whyItWaits({ db }: SqliteStore, pause: Pause, streams: readonly string[]) {
  const late = await behind(db, streams, pause.at);
  return late.length > 0 ? `reads everything once: ${late.join(', ')}` : describePause(pause);
}

interface Taken {
  readonly settings: StandbySettings;
  readonly servers: Servers;
  readonly holder: Holder;
  readonly memory: Memory;
}

/** Begins the record of the database. */
async function openStandby(
  config: Config,
  { settings, servers, holder, memory }: Taken,
  { store, clock, random, log }: StandbyDeps & { readonly store: SqliteStore },
): Promise<Standby> {
  await beginFeed(store, clock, uuidFrom(random));
  const feed = openFeed(storeOptions(config));
  const listeners: (() => void)[] = [];
  const onTurn = (): void => {
    for (const listener of listeners) listener();
  };
  const isOne = async (session: Session, place: number): Promise<boolean> => {
    const own = { account: settings.account, takings: memory.takings(), place };
    if (await isOfOnePast(session, { ...own, drawn: feed.drawn() })) return true;
    await renameFeed(store, clock, uuidFrom(random));
    log.error(
      { hint: 'make one: selvedge backup create' },
      'PostgreSQL has lost a part of the record: no standby can take over before a new backup',
    );
    return false;
  };
  const record = createRecord({
    settings,
    servers,
    feed,
    clock,
    onTurn,
    log,
    holding: () => holder.holding(),
    onFenced: () => holder.look(),
    clocks: { clock, uptime: systemUptime },
    place: await readPlace(store.db),
    isOfOnePast: isOne,
    oldest: async () => placeOfBackups(config, clock.now(), await readState(store.db, FEED_KEY)),
    forget: (kept) => forgetKept(store, clock, kept),
  });
  holder.onTurn(onTurn);
  const others = watchOthers({ servers, settings, clock });
  holder.follow({
    tell: () => ({
      ...record.state(),
      error: record.trouble(),
      ...others.seen(),
    }),
    isSettledOn: (timeline) => record.isSettledOn(timeline),
  });
  const whyNot = () => holder.whyNot() ?? record.trouble()?.message;
  const give = (to?: string): Promise<void> =>
    holder.giveAway(() => settle({ record, store, clock }), to);
  const giveBack = ({ pauses, streams }: CatchUpDeps): Worker =>
    createGiveBack({
      clock,
      log,
      give,
      wished: () => holder.wished(),
      say: (text) => holder.say(text),
      async whyNotYet(to) {
        const pause = pauses.list().find(({ actor }) => actor === TAKE_OVER);
        if (pause) return whyItWaits(store, pause, streams);
        const session = await servers.open();
        const asked = readOverview(session, settings.account).finally(() => session.end());
        const seen = (await asked).machines.find(({ machine }) => machine === to);
        const why = whyNotReady(seen, version());
        return why && `decides and sends; waits for ${to}: ${why}`;
      },
    });
  return {
    workersWith: (deps) => [holder, record, others, createCatchUp(deps), giveBack(deps)],
    routes: [standbyRoutes(give)],
    keep: () => record.kept(),
    permit: permitsOf(holder, record),
    sending: { whyNot, onTurn: (listener) => void listeners.push(listener) },
    handOver: give,
    status: () => holder.status(),
    close: () => feed.close(),
  };
}

/** Whether a take-over of this machine ended before it had a database. */
function isCutOff({ dataDir }: Config, memory: Memory): boolean {
  const [last = ''] = memory.takings();
  return memory.proofOf(last) !== undefined && !existsSync(join(dataDir, 'mirror.db'));
}

function cutOff(): StoreError {
  return new StoreError(SUPERSEDED, 'a take-over of this machine was cut off', {
    hint: 'start its standby, which goes on with it: systemctl start selvedge-standby',
  });
}

/** Takes the lease; throws `standby.superseded` where another machine holds it. */
export async function takeLease(config: Config, deps: StandbyDeps): Promise<Begun | undefined> {
  const settings = standbySettingsOf(config);
  if (settings === undefined) return undefined;
  const { clock, random } = deps;
  const log = deps.log.child({ room: 'standby' });
  const memory = openMemory(settings);
  const servers = createServers({ settings, clock, timelines: memory });
  if (isCutOff(config, memory)) throw cutOff();
  const draw = () => uuidFrom(random);
  const holder = createHolder({ settings, servers, memory, clock, log, draw });
  await holder.begin();
  const taken = { settings, servers, holder, memory };
  return { open: (store) => openStandby(config, taken, { ...deps, log, store }) };
}

const body = z.strictObject({ actor: actorFields.actor, to: z.string().optional() });

/** Has the daemon give its lease away: it stops sending, and waits until PostgreSQL has all. */
function standbyRoutes(handOver: (to?: string) => Promise<void>): RouteGroup {
  return {
    access: 'operator',
    install(app) {
      app.post('/api/standby/hand-over', async (request) => {
        await handOver(body.parse(request.body).to);
        return { handedOver: true };
      });
    },
  };
}

// Looks which machines wait for the lease, and whether a replica confirms commits: both are read
// alone, which goes on while a commit waits for a replica that is not there.

const OTHERS_LOOK_MS = 30_000;

interface Seen {
  readonly standbys: readonly WaitingSeen[];
  readonly replication: Replication;
}

interface Others extends Worker {
  /** Undefined: not known now. */
  seen(): Seen | undefined;
}

function watchOthers({
  servers,
  settings,
  clock,
}: {
  readonly servers: Servers;
  readonly settings: Pick<StandbySettings, 'account' | 'machine'>;
  readonly clock: Clock;
}): Others {
  let seen: Seen | undefined;
  const look = async (): Promise<Seen> => {
    const session = await servers.open();
    try {
      const { machines, replication } = await readOverview(session, settings.account);
      const standbys = machines.filter(({ machine }) => machine !== settings.machine);
      return { standbys, replication };
    } finally {
      await session.end();
    }
  };
  return {
    name: 'standby-others',
    seen: () => seen,
    async run(signal) {
      while (!signal.aborted) {
        // The lease's own worker says why PostgreSQL cannot be asked.
        seen = await look().catch(() => undefined);
        await clock.sleep(OTHERS_LOOK_MS, signal).catch(() => undefined);
      }
    },
  };
}
