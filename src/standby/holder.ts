/**
 * The machine that holds the lease. Its holder is read, never concluded: after each unknown answer
 * a new session reads the row, and believes it only after a renewal of its own was confirmed. While
 * the lease is not renewed nothing is sent; the process ends only when the row shows another
 * taking.
 */
import type { Clock } from '../lib/clock.ts';
import {
  RefusedError,
  type SelvedgeError,
  StoreError,
  SUPERSEDED,
  toError,
} from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import {
  giveAway,
  type Holding,
  type LeaseRow,
  readLease,
  renew,
  say,
  takeFirst,
  takeFrom,
  type Wish,
} from './lease.ts';
import type { Memory } from './memory.ts';
import { asStandbyError, unknownError } from './refusal.ts';
import { requireSchema } from './schema.ts';
import type { Servers, Session } from './session.ts';
import type { StandbySettings } from './settings.ts';
import { type StandbyStatus, writeStandbyStatus } from './status-file.ts';

export interface HolderDeps {
  readonly settings: StandbySettings;
  readonly servers: Servers;
  readonly memory: Memory;
  readonly clock: Clock;
  readonly log: Logger;
  /** Draws a taking: a UUID. */
  readonly draw: () => string;
}

export interface Holder {
  readonly name: string;
  /**
   * Takes the lease, or takes it again after a restart. Throws `standby.superseded` where another
   * machine has it. A data folder that has held it goes on while PostgreSQL cannot be asked, and
   * sends nothing until it knows.
   */
  begin(): Promise<void>;
  /** Renews until the signal aborts; rejects with `standby.superseded`. */
  run(signal: AbortSignal): Promise<void>;
  /** The taking under which rows may be written; undefined: it is not known to be ours. */
  holding(): Holding | undefined;
  /** Why nothing may be sent; undefined: the lease was renewed in time. */
  whyNot(): string | undefined;
  /** Reads the row at once, because somebody met another taking. */
  look(): void;
  /**
   * Gives the lease away, to that machine if one is named: from now on nothing new is sent, and
   * once `settle` resolves, it is given. Where it throws, or nobody takes it, this machine goes on.
   */
  giveAway(settle: () => Promise<void>, to?: string): Promise<void>;
  /** Machine that asks for the lease; undefined: none, or it is not held. */
  wished(): Wish | undefined;
  /** Tells the machine that asked for the lease how far this one is. */
  say(text: string): Promise<void>;
  /** Follows the record: what is told of it, and on which timeline it has all. */
  follow(record: FollowedRecord): void;
  status(): StandbyStatus;
  /** Called when sending begins or ceases to be allowed. */
  onTurn(listener: () => void): void;
}

/** Parts of the status that others than the lease know. */
type Recorded = 'waiting' | 'place' | 'standbys' | 'replication';

interface FollowedRecord {
  tell(): Pick<StandbyStatus, Recorded> & {
    readonly error?: SelvedgeError | undefined;
  };
  /** Whether it has all that was acknowledged, on the server's present timeline. */
  isSettledOn(timeline: number): boolean;
}

/** Until the database is open. */
const NO_RECORD: FollowedRecord = {
  tell: () => ({ waiting: 0, place: 0 }),
  isSettledOn: () => false,
};

const RETRY_MS = 1_000;
const NOT_RENEWED = 'PostgreSQL has not confirmed that this machine holds the lease';
const GIVING = 'the lease is being given away';
const HANDED_OVER = 'the lease was given to the other machine';
/** Leases after which one that nobody took is taken back. */
const TAKE_BACK_LEASES = 4;

function superseded(row: LeaseRow | undefined): StoreError {
  const by = row === undefined ? 'the lease is gone' : `the lease is that of ${row.holder}`;
  return new StoreError(SUPERSEDED, by, {
    hint: 'start a standby: systemctl start selvedge-standby (docs/operating/standby.md)',
  });
}

function givenAlready(): RefusedError {
  return new RefusedError('standby.giving', 'the lease is being given away already', {
    hint: 'selvedge standby status',
  });
}

class LeaseHolder implements Holder {
  readonly name = 'standby-lease';
  readonly #deps: HolderDeps;
  #session: Session | undefined;
  #taking: string | undefined;
  /** Beats that the row may have: after an unknown renewal there are two. */
  #beats: readonly number[] = [];
  /** Monotonic time until which the last renewal counts. */
  #heldUntil = Number.NEGATIVE_INFINITY;
  #row: LeaseRow | undefined;
  #trouble: SelvedgeError | undefined;
  /**
   * Set while the lease is given away; with the monotonic time at which PostgreSQL was asked to,
   * and whether it has answered, or will not.
   */
  #giving: { readonly askedAt?: number; readonly isAnswered?: true } | undefined;
  #wasAllowed: boolean | undefined;
  #wake = new AbortController();
  #record = NO_RECORD;
  readonly #listeners: (() => void)[] = [];

  constructor(deps: HolderDeps) {
    this.#deps = deps;
  }

  async begin(): Promise<void> {
    const { memory, log } = this.#deps;
    try {
      await this.#claim();
    } catch (thrown) {
      await this.#drop(thrown);
      const error = asStandbyError(thrown);
      if (error.code === SUPERSEDED || !memory.hasHeld()) throw error;
      log.warn({ code: error.code, hint: error.hint }, `nothing is sent: ${error.message}`);
    }
    this.#tell();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, settings } = this.#deps;
    while (!signal.aborted) {
      this.#wake = new AbortController();
      try {
        if (this.#taking === undefined) await this.#claim();
        else await this.#renew();
        this.#trouble = undefined;
      } catch (thrown) {
        await this.#drop(thrown);
      }
      this.#tell();
      if (this.#trouble?.code === SUPERSEDED) throw this.#trouble;
      const pauseMs = this.#trouble === undefined ? settings.renewMs : RETRY_MS;
      const lost = this.#session === undefined ? [] : [this.#session.lost];
      const wake = AbortSignal.any([signal, this.#wake.signal, ...lost]);
      await clock.sleep(Math.min(pauseMs, settings.renewMs), wake).catch(() => undefined);
    }
    await this.#session?.end();
    this.#session = undefined;
  }

  holding(): Holding | undefined {
    const { account, machine, leaseMs } = this.#deps.settings;
    if (this.#taking === undefined || this.#trouble?.code === SUPERSEDED) return undefined;
    return { account, machine, leaseMs, taking: this.#taking };
  }

  whyNot(): string | undefined {
    if (this.#giving) return this.#giving.askedAt === undefined ? GIVING : HANDED_OVER;
    const isHeld = this.holding() !== undefined;
    if (isHeld && this.#deps.clock.monotonic() < this.#heldUntil) return undefined;
    if (this.#trouble === undefined) return NOT_RENEWED;
    const { code, message } = this.#trouble;
    return code === SUPERSEDED ? message : `${NOT_RENEWED}: ${message}`;
  }

  look(): void {
    this.#wake.abort();
  }

  onTurn(listener: () => void): void {
    this.#listeners.push(listener);
  }

  wished(): Wish | undefined {
    const { wantedBy = null, wantedMs = null } = this.#row ?? {};
    if (wantedBy === null || wantedMs === null || this.whyNot() !== undefined) return undefined;
    const isOwn = wantedBy === this.#deps.settings.machine;
    return isOwn ? undefined : { to: wantedBy, withinMs: wantedMs };
  }

  async say(text: string): Promise<void> {
    const held = this.holding();
    if (held === undefined) return;
    const session = await this.#deps.servers.open();
    await say(session, held, text).finally(() => session.end());
  }

  follow(record: FollowedRecord): void {
    this.#record = record;
  }

  async giveAway(settle: () => Promise<void>, to?: string): Promise<void> {
    if (this.#giving) throw givenAlready();
    this.#giving = {};
    this.#tell();
    let held: Holding | undefined;
    try {
      await settle();
      held = this.holding();
      if (held === undefined) throw superseded(this.#row);
    } catch (thrown) {
      this.#giving = undefined;
      this.#tell();
      throw thrown;
    }
    const askedAt = this.#deps.clock.monotonic();
    this.#giving = { askedAt };
    this.#tell();
    try {
      const session = await this.#deps.servers.open();
      const isGiven = await giveAway(session, held, to).finally(() => session.end());
      if (!isGiven) throw superseded(this.#row);
    } finally {
      // Whatever came of it, the row tells: one that shows no hand-over is taken again.
      this.#giving = { askedAt, isAnswered: true };
      this.look();
    }
  }

  status(): StandbyStatus {
    const { clock, settings } = this.#deps;
    const { error: recordError, ...record } = this.#record.tell();
    const error = this.#trouble ?? recordError;
    return {
      at: clock.now(),
      role: 'holder',
      state: this.#state(error),
      account: settings.account,
      machine: settings.machine,
      acknowledge: settings.acknowledge,
      ...record,
      ...(this.#row && {
        holder: this.#row.holder,
        since: this.#row.takenAt,
        token: this.#row.token,
        timeline: this.#row.timeline,
      }),
      ...(error && { error: { code: error.code, message: error.message, hint: error.hint } }),
    };
  }

  #state(error: SelvedgeError | undefined): StandbyStatus['state'] {
    if (this.#giving) return 'handed_over';
    if (error !== undefined) return 'away';
    return this.whyNot() === undefined ? 'sending' : 'unknown';
  }

  /** Ends a session whose answers are not believed any more. */
  async #drop(thrown: unknown): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    this.#trouble = asStandbyError(thrown);
    await session?.end();
  }

  async #open(): Promise<Session> {
    if (this.#session?.lost.aborted === false) return this.#session;
    const { servers, settings } = this.#deps;
    const session = await servers.open();
    this.#session = session;
    await requireSchema(session, settings.schema);
    return session;
  }

  /** Takes a lease that nobody has, or that an earlier process of this data folder had. */
  async #claim(): Promise<void> {
    const { settings, memory, clock, draw } = this.#deps;
    const session = await this.#open();
    const row = await readLease(session, settings.account);
    this.#row = row;
    if (row !== undefined && !memory.isOwn(row.taking)) throw superseded(row);
    const { account, machine, leaseMs } = settings;
    const me = { account, machine, leaseMs, taking: draw() };
    // The taking is known for ours before it may come true: an answer that is lost leaves it open.
    memory.note(me.taking);
    const begunAt = clock.monotonic();
    const isTaken = row ? await takeFrom(session, row, me) : await takeFirst(session, me);
    if (!isTaken) await this.#lost(session);
    if (this.#giving?.askedAt !== undefined) this.#giving = undefined;
    this.#hold(me.taking, [0], begunAt);
    this.#row = await readLease(session, account);
  }

  /** Throws why a statement did not find the row as it was read before. */
  async #lost(session: Session): Promise<never> {
    const { settings, memory } = this.#deps;
    const row = await readLease(session, settings.account);
    if (row === undefined || !memory.isOwn(row.taking)) throw superseded(row);
    throw unknownError('an earlier renewal of this machine came true late');
  }

  /** Reads the row and raises its beat: a row that only was read may be gone after a promotion. */
  async #renew(): Promise<void> {
    const { settings, memory, clock, log } = this.#deps;
    const session = await this.#open();
    const begunAt = clock.monotonic();
    const row = await readLease(session, settings.account);
    if (row === undefined) throw superseded(row);
    this.#row = row;
    const isOurs = row.taking === this.#taking && this.#beats.includes(row.beat);
    const isOfBefore = row.taking !== this.#taking && memory.isOwn(row.taking);
    const isBehind = row.taking === this.#taking && row.beat < Math.min(...this.#beats);
    // A promoted server may have an earlier state of ours; a higher beat is that of a copy of this
    // data folder on another machine.
    const { askedAt, isAnswered } = this.#giving ?? {};
    if (!isOurs && !isOfBefore && !isBehind) {
      if (askedAt === undefined || row.taking !== this.#taking) throw superseded(row);
    }
    // Its numbers may be those of a database that was set aside since.
    if (isOfBefore) return this.#claim();
    if (askedAt !== undefined) {
      const isAwaited = clock.monotonic() - askedAt < TAKE_BACK_LEASES * settings.leaseMs;
      if (isAnswered === undefined || (row.handedOver && isAwaited)) return;
      // By a taking of its own: an answer of the hand-over that comes true late finds another.
      log.warn('nobody has taken the lease: this machine takes it back');
      return this.#claim();
    }
    const me = this.#holdingOf(row.taking);
    this.#beats = [row.beat, row.beat + 1];
    this.#taking = row.taking;
    const isSettled = this.#record.isSettledOn(session.timeline);
    const renewed = await renew(session, me, row.beat, isSettled);
    if (renewed === undefined) return this.#lost(session);
    this.#row = renewed;
    this.#hold(row.taking, [renewed.beat], begunAt);
  }

  #holdingOf(taking: string): Holding {
    const { account, machine, leaseMs } = this.#deps.settings;
    return { account, machine, leaseMs, taking };
  }

  #hold(taking: string, beats: readonly number[], begunAt: number): void {
    this.#taking = taking;
    this.#beats = beats;
    this.#trouble = undefined;
    this.#heldUntil = begunAt + this.#deps.settings.leaseMs;
  }

  #tell(): void {
    const { settings, log } = this.#deps;
    const isAllowed = this.whyNot() === undefined;
    if (isAllowed !== this.#wasAllowed) {
      if (isAllowed)
        log.info({ token: this.#row?.token }, 'this machine holds the lease and sends');
      else log.warn({ hint: this.#trouble?.hint }, `nothing is sent: ${this.whyNot()}`);
      this.#wasAllowed = isAllowed;
      for (const listener of this.#listeners) listener();
    }
    try {
      writeStandbyStatus(settings.dataDir, this.status());
    } catch (thrown) {
      // A full disk must not keep the lease from being renewed.
      log.debug({ err: toError(thrown).message }, 'the status file could not be written');
    }
  }
}

export function createHolder(deps: HolderDeps): Holder {
  return new LeaseHolder(deps);
}
