/**
 * The record: appends what this daemon has committed to PostgreSQL, round by round, each round in
 * one statement that is fenced by the taking. What must not be told before a second machine could
 * tell it, too, waits for the round that began after its commit: one wait for many. Permits go with
 * the rows: PostgreSQL has a push, and the attempt, whenever it has the permit.
 */
import type { Clock } from '../lib/clock.ts';
import { RetryLaterError, type SelvedgeError, toError } from '../lib/errors.ts';
import { createOutages, type Outages } from '../lib/log/outages.ts';
import type { Logger } from '../lib/log.ts';
import type { FeedReader, RecordedRow } from './feed.ts';
import type { Holding } from './lease.ts';
import {
  momentOf,
  type Permit,
  type PermitAbout,
  type PermitClocks,
  permitFrom,
} from './permit.ts';
import { asStandbyError, unknownError } from './refusal.ts';
import { literal, type Servers, type Session } from './session.ts';
import type { StandbySettings } from './settings.ts';
import { trimRecord } from './trim.ts';

/** `unknown`: it is kept here, and nobody knows whether PostgreSQL has it. */
type Kept = 'kept' | 'unknown';

export interface RecordDeps {
  readonly settings: Pick<StandbySettings, 'permitMs' | 'timeoutMs' | 'acknowledge'>;
  readonly servers: Servers;
  readonly feed: FeedReader;
  /** The taking under which rows are appended; undefined: this machine does not hold the lease. */
  readonly holding: () => Holding | undefined;
  /** Called when the lease was found to have another taking. */
  readonly onFenced: () => void;
  /** Called when PostgreSQL takes rows again, or takes none any more. */
  readonly onTurn: () => void;
  readonly clocks: PermitClocks;
  readonly clock: Clock;
  readonly log: Logger;
  /** Notes that PostgreSQL has all entries up to this one, in the record up to this place. */
  readonly forget: (kept: { readonly seq: number; readonly place: number }) => Promise<void>;
  /** Place of the record up to which this database has all. */
  readonly place: number;
  /**
   * Whether the server's record has what this database has forgotten up to this place. False:
   * another feed was begun. Throws where this database is the older one.
   */
  readonly isOfOnePast: (session: Session, place: number) => Promise<boolean>;
  /** Place up to which nobody needs the record any more. */
  readonly oldest: () => number | Promise<number>;
}

export interface Recorder {
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
  /** Resolves once PostgreSQL has all that was committed so far, or it is not known. */
  kept(): Promise<Kept>;
  /** The same, whatever `standby.acknowledge` says. */
  settled(): Promise<Kept>;
  /** Asks for a permit; rejects with a RetryLaterError: the request must not be made. */
  permit(about: PermitAbout): Promise<Permit>;
  /** Why PostgreSQL takes nothing now; undefined: it does, as far as is known. */
  trouble(): SelvedgeError | undefined;
  /**
   * Whether the record has all that was kept on the server's present timeline. Where it has not,
   * the next round goes to that server, and sends again what a promoted one may lack.
   */
  isSettledOn(timeline: number): boolean;
  /** Entries that PostgreSQL does not have, and up to which place this database has the record. */
  state(): { readonly waiting: number; readonly place: number };
}

/** Appends rows, or none, by one statement, which itself finds out what became of the lease. */
export async function append(
  session: Session,
  { account, taking }: Pick<Holding, 'account' | 'taking'>,
  rows: readonly RecordedRow[],
  permits: readonly PermitRow[],
  isWhole: boolean,
): Promise<{ readonly isFenced: boolean; readonly place: number | undefined }> {
  const all = [...rows, ...permits.map((row) => ({ ...row, seq: null }))];
  const values = all.map(({ seq, what, key, row }, index) => {
    const isLast = isWhole && index === all.length - 1;
    const texts = [what, key, row].map((one) => literal(one)).join(', ');
    return `(${index}, ${seq === null ? 'null::bigint' : seq}, ${isLast}, ${texts})`;
  });
  // A common table expression is run once: the lock is taken before the first row is written. A row
  // that is there already was written under this taking, by a round whose answer was lost.
  const held = `with held AS materialized (select taking from standby_lease
     where account = ${literal(account)} and taking = ${literal(taking)} for share)`;
  if (all.length === 0) {
    const [found] = await session.ask(`${held} select count(*)::int AS held from held`);
    return { isFenced: found?.held !== 1, place: undefined };
  }
  const [answer] = await session.ask(
    `${held}, kept AS (insert into standby_record (account, taking, seq, whole, what, key, row)
       select ${literal(account)}, held.taking, v.seq, v.whole, v.what, v.key, v.row
       from held, (values ${values.join(', ')}) AS v (at, seq, whole, what, key, row)
       order by v.at on conflict do nothing returning place)
     select (select count(*) from held)::int AS held, (select max(place) from kept) AS place`,
  );
  const place = answer?.place === null ? undefined : Number(answer?.place);
  return { isFenced: answer?.held !== 1, place };
}

/** Permit as it is recorded. */
export interface PermitRow {
  readonly what: 'permit';
  readonly key: string;
  readonly row: string;
}

export function permitRow(about: PermitAbout, goodMs: number): PermitRow {
  const { outboxId, attempt, kind, reference, bodyHash } = about;
  return {
    what: 'permit',
    key: JSON.stringify([outboxId, attempt]),
    row: JSON.stringify({ kind, reference, bodyHash, goodMs }),
  };
}

interface Waiter {
  settle(kept: Kept): void;
}

interface Mark {
  readonly seq: number;
  readonly place: number;
  readonly at: number;
}

interface Asking {
  readonly row: PermitRow;
  grant(permit: Permit): void;
  refuse(error: RetryLaterError): void;
}

/** How often entries that nobody waits for are looked for. */
const POLL_MS = 1_000;
const RETRY_MS = 500;
/**
 * Entries are forgotten only so long after PostgreSQL has them: a replica that is promoted and was
 * not synchronous may lack the last ones, which are then sent once more.
 */
const FORGET_AFTER_MS = 300_000;
/** They are forgotten together, because that is a commit. */
const FORGET_EVERY_MS = 30_000;
/** Rows of the record that all backups have are deleted so often, a few at a time. */
const TRIM_EVERY_MS = 3_600_000;

function refusal(why: SelvedgeError | undefined): RetryLaterError {
  const message = why === undefined ? 'this machine does not hold the lease' : why.message;
  return new RetryLaterError('standby.no_permit', `no permit to send: ${message}`, {
    hint: 'it is sent once PostgreSQL has it: selvedge standby status',
    cause: why,
  });
}

class Keeper implements Recorder {
  readonly name = 'standby-record';
  readonly #deps: RecordDeps;
  readonly #outages: Outages<string>;
  #session: Session | undefined;
  #waiters: Waiter[] = [];
  #asking: Asking[] = [];
  #trouble: SelvedgeError | undefined;
  /** Ends the pause between two rounds. */
  #wake: () => void = () => undefined;
  /** Last entry that PostgreSQL has. */
  #keptTo = 0;
  #place: number;
  #timeline = 0;
  /** Timeline on which a whole round was kept; 0: none yet, and the next round is made. */
  #settledOn = 0;
  /** Whether another server is the primary now: this one may answer on. */
  #isLeftBehind = false;
  /** Up to where PostgreSQL had what at some times, the oldest first; the first is forgotten. */
  readonly #marks: Mark[];
  #forgottenTo = 0;
  #trimAt: number;

  constructor(deps: RecordDeps) {
    this.#deps = deps;
    this.#place = deps.place;
    this.#trimAt = deps.clock.monotonic() + TRIM_EVERY_MS;
    this.#marks = [{ seq: 0, place: deps.place, at: deps.clock.monotonic() }];
    this.#outages = createOutages<string>(deps, {
      of: 'what',
      begins: 'PostgreSQL does not take what is recorded: nothing is sent',
      over: 'PostgreSQL takes what is recorded again',
      hint: 'docs/operating/standby.md',
    });
  }

  kept(): Promise<Kept> {
    const isLocal = this.#deps.settings.acknowledge === 'local';
    return isLocal ? Promise.resolve('kept') : this.settled();
  }

  settled(): Promise<Kept> {
    const { settings, clock } = this.#deps;
    // Nobody waits for a server that is known to be away: the next round finds out when it is back.
    if (this.#trouble !== undefined) return Promise.resolve('unknown');
    return new Promise((resolve) => {
      const timer = clock.after(settings.timeoutMs, () => resolve('unknown'));
      this.#waiters.push({
        settle(kept) {
          timer.cancel();
          resolve(kept);
        },
      });
      this.#wake();
    });
  }

  permit(about: PermitAbout): Promise<Permit> {
    const { settings, clock } = this.#deps;
    if (this.#trouble !== undefined) return Promise.reject(refusal(this.#trouble));
    return new Promise((resolve, reject) => {
      const timer = clock.after(settings.timeoutMs, () => reject(refusal(this.#trouble)));
      this.#asking.push({
        row: permitRow(about, settings.permitMs),
        grant(permit) {
          timer.cancel();
          resolve(permit);
        },
        refuse(error) {
          timer.cancel();
          reject(error);
        },
      });
      this.#wake();
    });
  }

  trouble(): SelvedgeError | undefined {
    return this.#trouble;
  }

  isSettledOn(timeline: number): boolean {
    if (this.#settledOn === timeline) return true;
    this.#settledOn = 0;
    this.#isLeftBehind = this.#session !== undefined && this.#session.timeline !== timeline;
    this.#wake();
    return false;
  }

  state() {
    return {
      waiting: Math.max(0, this.#deps.feed.last() - this.#keptTo),
      place: this.#place,
    };
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    signal.addEventListener('abort', () => this.#wake(), { once: true });
    while (!signal.aborted) {
      if (await this.#round()) continue;
      const isTroubled = this.#trouble !== undefined;
      // Requests that came since have found nothing to wake.
      const isWanted = this.#waiters.length + this.#asking.length > 0;
      if (signal.aborted || (!isTroubled && isWanted)) continue;
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = clock.after(isTroubled ? RETRY_MS : POLL_MS, resolve);
      this.#wake = resolve;
      await promise;
      timer.cancel();
    }
    // Sends what was committed while the daemon stopped, if PostgreSQL answers at once.
    if (this.#trouble === undefined) await this.#round();
    await this.#session?.end();
    this.#session = undefined;
  }

  /** Sends a piece of what is waiting. True: there is more. */
  async #round(): Promise<boolean> {
    const { feed, holding, onFenced, servers, settings, clocks } = this.#deps;
    const waiters = this.#waiters.splice(0);
    const held = holding();
    if (held === undefined) {
      this.#fail(waiters, []);
      return false;
    }
    const piece = feed.read(this.#keptTo);
    const asking = piece.isWhole ? this.#asking.splice(0) : [];
    // After trouble even a round of nothing is sent: by it PostgreSQL is found to be back.
    const isNews = this.#trouble !== undefined || this.#settledOn === 0;
    if (piece.rows.length + asking.length === 0 && !isNews) {
      if (piece.last > 0) this.#keptTo = piece.last;
      if (!piece.isWhole) this.#waiters.unshift(...waiters);
      else for (const waiter of waiters) waiter.settle('kept');
      return !piece.isWhole;
    }
    try {
      const session = await this.#open(servers);
      const asked = momentOf(clocks);
      const rows = asking.map(({ row }) => row);
      const { isFenced, place } = await append(session, held, piece.rows, rows, piece.isWhole);
      if (isFenced) {
        this.#fail(waiters, asking);
        onFenced();
        return false;
      }
      this.#turn(undefined);
      if (piece.isWhole) this.#settledOn = session.timeline;
      if (piece.last > 0) this.#keptTo = piece.last;
      this.#place = Math.max(this.#place, place ?? 0);
      if (piece.isWhole) for (const waiter of waiters) waiter.settle('kept');
      else this.#waiters.unshift(...waiters);
      for (const { grant } of asking) grant(permitFrom(asked, settings.permitMs, clocks));
    } catch (thrown) {
      await this.#session?.end();
      this.#session = undefined;
      this.#turn(asStandbyError(thrown));
      this.#fail(waiters, asking);
      return false;
    }
    await this.#forget();
    await this.#trim(held);
    return !piece.isWhole || this.#waiters.length + this.#asking.length > 0;
  }

  #fail(waiters: readonly Waiter[], asking: readonly Asking[]): void {
    for (const waiter of [...waiters, ...this.#waiters.splice(0)]) waiter.settle('unknown');
    const error = refusal(this.#trouble);
    for (const { refuse } of [...asking, ...this.#asking.splice(0)]) refuse(error);
  }

  #turn(trouble: SelvedgeError | undefined): void {
    const isTurn = (this.#trouble === undefined) !== (trouble === undefined);
    this.#trouble = trouble;
    if (trouble === undefined) this.#outages.over('record');
    else this.#outages.note('record', trouble.message, { code: trouble.code, hint: trouble.hint });
    if (isTurn) this.#deps.onTurn();
  }

  async #open(servers: Servers): Promise<Session> {
    if (this.#session !== undefined && !this.#isLeftBehind) return this.#session;
    await this.#session?.end();
    this.#session = undefined;
    this.#isLeftBehind = false;
    const session = await servers.open();
    const isPromoted = this.#timeline !== 0 && session.timeline !== this.#timeline;
    this.#session = session;
    const { seq = 0, place = 0 } = this.#marks[0] ?? {};
    const isOne = await this.#deps.isOfOnePast(session, place);
    if (isOne && session.timeline === this.#timeline) return session;
    this.#timeline = session.timeline;
    // Read again from where nothing can be missing; what is there is not written twice. Places of
    // rows that a promoted server lacks are given out again.
    this.#place = isOne ? place : 0;
    this.#marks.length = 0;
    this.#marks.push({ seq, place: this.#place, at: this.#deps.clock.monotonic() });
    if (isPromoted || !isOne) this.#keptTo = seq;
    if (isPromoted) throw unknownError('another server is the primary now');
    if (!isOne) throw unknownError('it lacks what it had confirmed');
    return session;
  }

  async #trim(held: Holding): Promise<void> {
    const { clock, oldest, log } = this.#deps;
    const session = this.#session;
    if (session === undefined || clock.monotonic() < this.#trimAt) return;
    try {
      const isMore = await trimRecord(session, held, await oldest());
      if (!isMore) this.#trimAt = clock.monotonic() + TRIM_EVERY_MS;
    } catch (thrown) {
      this.#trimAt = clock.monotonic() + TRIM_EVERY_MS;
      this.#session = undefined;
      await session.end();
      log.debug({ err: toError(thrown).message }, 'the record could not be trimmed');
    }
  }

  async #forget(): Promise<void> {
    const { clock, forget, log } = this.#deps;
    const at = clock.monotonic();
    const marks = this.#marks;
    if (at - (marks.at(-1)?.at ?? 0) < FORGET_EVERY_MS) return;
    marks.push({ seq: this.#keptTo, place: this.#place, at });
    while ((marks[1]?.at ?? at) <= at - FORGET_AFTER_MS) marks.shift();
    const [oldest] = marks;
    if (oldest === undefined || oldest.seq <= this.#forgottenTo) return;
    try {
      await forget(oldest);
      this.#forgottenTo = oldest.seq;
    } catch (thrown) {
      // They are sent once more after a restart, which changes nothing.
      log.debug({ err: toError(thrown).message }, 'kept entries could not be forgotten');
    }
  }
}

export function createRecord(deps: RecordDeps): Recorder {
  return new Keeper(deps);
}
