/**
 * Sessions with the primary among the servers of `standby.servers`. A session sends each statement
 * as one message that is a transaction of its own: a process that is stopped in the midst leaves no
 * transaction open, and settings hold behind a pooler, too. After an answer that did not come in
 * time, or that says that a replica did not confirm it, nobody knows what was done: the session
 * ends at once and says nothing more, since no time-out reaches a commit that waits for a replica.
 */
import { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import { RetryLaterError, type SelvedgeError } from '../lib/errors.ts';
import { startSession } from '../plane/session.ts';
import { asStandbyError, unknownError } from './refusal.ts';
import type { StandbySettings } from './settings.ts';

export type Row = Readonly<Record<string, unknown>>;

export interface Session {
  /** Timeline of the server when the session began. */
  readonly timeline: number;
  /**
   * Aborts when the connection is gone: a server that stops says so at once, and one that was left
   * behind is not asked any more once another session meets a higher timeline.
   */
  readonly lost: AbortSignal;
  /** Runs a statement; a failure has ended the session. */
  ask(text: string): Promise<readonly Row[]>;
  /** Ends the session soon; never throws. */
  end(): Promise<void>;
}

export interface Servers {
  /** Begins a session with the primary. Throws a SelvedgeError `standby.…`. */
  open(): Promise<Session>;
  /**
   * The same, once all servers were asked for their timelines: an old primary that came back may be
   * named first, and be all that a machine has seen that was off meanwhile.
   */
  openNewest(): Promise<Session>;
}

export interface ServersDeps {
  readonly settings: Pick<StandbySettings, 'servers' | 'schema' | 'timeoutMs'>;
  readonly clock: Clock;
  /** The highest timeline that was ever seen: a server with a lower one was left behind. */
  readonly timelines: {
    highest(): number;
    /** Notes a higher one; it must be durable before the session is used. */
    saw(timeline: number): void;
  };
}

/** Text as a literal of SQL, whatever `standard_conforming_strings` says. */
export function literal(value: string | number | boolean | null): string {
  if (value === null) return 'null';
  if (typeof value !== 'string') return String(value);
  const quoted = `'${value.replaceAll("'", "''")}'`;
  return quoted.includes('\\') ? ` E${quoted.replaceAll('\\', '\\\\')}` : quoted;
}

const quotedName = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** A lock is the other machine's, and is told of rather than waited for. */
const LOCK_TIMEOUT_MS = 1_000;
/** A statement of a client that has died ends within this time. */
const CLIENT_CHECK_MS = 500;

/** Settings of one transaction, as a statement before another one. */
function settingsOf(schema: string): string {
  const settings = {
    search_path: quotedName(schema),
    synchronous_commit: 'on',
    lock_timeout: String(LOCK_TIMEOUT_MS),
    client_connection_check_interval: String(CLIENT_CHECK_MS),
  };
  const set = Object.entries(settings).map(
    ([name, value]) => `set_config(${literal(name)}, ${literal(value)}, true)`,
  );
  return `select ${set.join(', ')}`;
}

/** Notices of this class are warnings: "canceling wait for synchronous replication" is 01000. */
const WARNING = /^01/;

/** `pg_control_checkpoint()` would tell the timeline of before a promotion for half a minute. */
const WHICH = `select pg_is_in_recovery() AS replica, case when not pg_is_in_recovery()
  then left(pg_walfile_name(pg_current_wal_lsn()), 8) end AS timeline`;

const IDENTITY = z.object({ replica: z.boolean(), timeline: z.string().nullable() });

const results = z.object({ rows: z.array(z.record(z.string(), z.unknown())) });

interface Begun extends Session {
  readonly isReplica: boolean;
  /** Cuts the connection: nothing more is asked there. */
  cut(reason: SelvedgeError): void;
}

async function begin({ settings, clock }: ServersDeps, url: string): Promise<Begun> {
  const { schema, timeoutMs } = settings;
  const cut = new AbortController();
  const way = { url, connectTimeoutMs: timeoutMs, clock, cut: cut.signal };
  const { client, end } = await startSession(way, { application_name: 'selvedge standby' });
  const lost = new AbortController();
  client.on('end', () => lost.abort());
  const prefix = settingsOf(schema);
  let warning: string | undefined;
  client.on('notice', ({ code = '', message }) => {
    if (WARNING.test(code)) warning = message;
  });
  const ask: Session['ask'] = async (text) => {
    warning = undefined;
    const late = Promise.withResolvers<never>();
    const timer = clock.after(timeoutMs, () => late.reject(unknownError('no answer in time')));
    try {
      const query = client.query(`${prefix}; ${text}`);
      query.catch(() => undefined);
      const answers = [await Promise.race([query, late.promise])].flat();
      if (warning !== undefined) throw unknownError(`not confirmed: ${warning}`);
      return results.parse(answers.at(-1)).rows;
    } catch (thrown) {
      // No ROLLBACK: on a cut line it would wait as long again.
      cut.abort(thrown);
      throw asStandbyError(thrown);
    } finally {
      timer.cancel();
    }
  };
  try {
    const [row] = await ask(WHICH);
    const { replica, timeline } = IDENTITY.parse(row);
    return {
      timeline: Number.parseInt(timeline ?? '0', 16),
      lost: lost.signal,
      ask,
      end,
      isReplica: replica,
      cut: (reason) => cut.abort(reason),
    };
  } catch (thrown) {
    await end();
    throw thrown;
  }
}

function noPrimary(): RetryLaterError {
  return new RetryLaterError('standby.no_primary', 'each server that answers is a replica', {
    hint: 'promote one, or add the primary to standby.servers; nothing is sent until then',
  });
}

function oldTimeline(server: string, timeline: number, highest: number): RetryLaterError {
  const message = `the server ${server} is on timeline ${timeline}, and ${highest} was seen`;
  return new RetryLaterError('standby.old_timeline', message, {
    hint: 'it is an old primary that was left behind: stop it, or make it a replica of the new one',
  });
}

export function createServers(deps: ServersDeps): Servers {
  const { servers } = deps.settings;
  const { timelines } = deps;
  /** The server that was the primary last is asked first. */
  let first = 0;
  const alive = new Map<Begun, string>();
  /** Keeps a session until it is gone; those with a server that was left behind end at once. */
  const keep = (session: Begun, server: string): void => {
    const highest = timelines.highest();
    for (const [other, at] of alive) {
      if (other.timeline < highest) other.cut(oldTimeline(at, other.timeline, highest));
    }
    alive.set(session, server);
    session.lost.addEventListener('abort', () => alive.delete(session), { once: true });
  };
  const one = async (index: number): Promise<Session | SelvedgeError> => {
    const url = servers[index]?.reveal() ?? '';
    // Neither user nor password: people tell servers by their hosts.
    const server = URL.parse(url)?.host || undefined;
    try {
      const session = await begin(deps, url);
      if (session.isReplica) {
        await session.end();
        return noPrimary();
      }
      const highest = timelines.highest();
      if (session.timeline < highest) {
        await session.end();
        return oldTimeline(server ?? '', session.timeline, highest);
      }
      if (session.timeline > highest) timelines.saw(session.timeline);
      keep(session, server ?? '');
      return session;
    } catch (thrown) {
      return asStandbyError(thrown, server);
    }
  };
  const open = async (): Promise<Session> => {
    let told: SelvedgeError | undefined;
    for (let step = 0; step < servers.length; step += 1) {
      const index = (first + step) % servers.length;
      const found = await one(index);
      if (!(found instanceof Error)) {
        first = index;
        return found;
      }
      // A server that cannot be reached says less than one that answers.
      if (told === undefined || told.code === 'standby.unreachable') told = found;
    }
    throw told ?? noPrimary();
  };
  return {
    open,
    async openNewest() {
      const found = await Promise.all(servers.map((_, index) => one(index)));
      await Promise.all(found.map((each) => (each instanceof Error ? undefined : each.end())));
      return open();
    },
  };
}
