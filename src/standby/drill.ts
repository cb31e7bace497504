/**
 * A drill: the lease goes to the machine that waits and comes back, and each step is told. It only
 * asks: the holder gives the lease away, takes back what nobody takes, and counts the time for a
 * wish by its own clock. A drill that is cut off leaves one machine that sends.
 */
import type { Clock } from '../lib/clock.ts';
import { RefusedError, RetryLaterError, SelvedgeError } from '../lib/errors.ts';
import { formatDuration } from '../lib/units.ts';
import { type LeaseRow, readLease, want } from './lease.ts';
import type { Ledger } from './ledger.ts';
import { readOverview, type WaitingSeen, whyNotReady } from './overview.ts';
import { asStandbyError } from './refusal.ts';
import type { Servers, Session } from './session.ts';
import type { StandbySettings } from './settings.ts';

/** This machine as a holder, while its daemon runs. */
export interface HolderHere extends Ledger {
  /** Taking that its daemon sends by, as it tells people; undefined: it sends nothing. */
  readonly token: number | undefined;
  /** Why it does not go on by itself yet; undefined: it does. */
  readonly waitsFor: string | undefined;
}

export interface DrillDeps {
  readonly settings: Pick<StandbySettings, 'account' | 'machine' | 'leaseMs'>;
  readonly servers: Pick<Servers, 'open'>;
  readonly clock: Clock;
  readonly version: string;
  readonly isOneWay: boolean;
  /** Milliseconds within which the lease is to be back, and sent by. */
  readonly withinMs: number;
  /** Throws why this machine could not take over again. */
  readonly requireWayBack: (session: Session) => Promise<void>;
  /** Has the daemon of this machine give the lease to that one. */
  readonly handOver: (to: string, signal: AbortSignal) => Promise<unknown>;
  /** Undefined: there is no database here now. */
  readonly here: () => Promise<HolderHere | undefined>;
  readonly tell: (step: DrillStep) => void;
}

export interface DrillStep {
  readonly step:
    | 'ready'
    | 'handed over'
    | 'taken'
    | 'says'
    | 'given back'
    | 'back'
    | 'sends'
    | 'waits';
  /** Milliseconds since the drill began. */
  readonly atMs: number;
  readonly machine: string;
  readonly says: string;
}

export interface DrillReport {
  readonly from: string;
  readonly to: string;
  readonly isBack: boolean;
  /** Documents in doubt before and after it, and those that it put in doubt; null: not back. */
  readonly inDoubt: {
    readonly before: number;
    readonly after: number;
    readonly put: number;
  } | null;
  /** Parts that the record lacked, for which a person must resume. */
  readonly missing: number;
  /** Last number of a document before and after it; null: not back. */
  readonly numbers: { readonly before: number; readonly after: number } | null;
}

const LOOK_MS = 500;
/** The holder takes back what nobody took within four leases, and renews it each third of one. */
const TAKE_LEASES = 6;
/** The daemon waits so long for what is being sent, and a little. */
const GIVE_MS = 180_000;
/** Numbers that a restore leaves out, and no drill does. */
const JUMP = 1_000_000;

function notSending(): RefusedError {
  return new RefusedError('standby.not_holder', 'the daemon of this machine holds no lease', {
    hint: 'type it on the machine that holds: selvedge standby status',
  });
}

class Drill {
  readonly #deps: DrillDeps;
  readonly #begunAt: number;
  #session: Session | undefined;
  #backAt = Number.POSITIVE_INFINITY;

  constructor(deps: DrillDeps) {
    this.#deps = deps;
    this.#begunAt = deps.clock.monotonic();
  }

  async run(): Promise<DrillReport> {
    const { settings, isOneWay } = this.#deps;
    try {
      const { lease, before, ready } = await this.#ready();
      await this.#give(ready.machine, lease);
      const taken = await this.#untilTaken(lease);
      const report = { from: settings.machine, to: taken.holder };
      if (isOneWay) return { ...report, isBack: false, inDoubt: null, missing: 0, numbers: null };
      await this.#untilBack();
      const after = await this.#untilSending();
      await this.#untilWaits(taken.holder);
      const put = after.takeOvers.filter(({ id }) => id > before.lastAct);
      return {
        ...report,
        isBack: true,
        inDoubt: {
          before: before.inDoubt,
          after: after.inDoubt,
          put: put.reduce((sum, one) => sum + one.inDoubt, 0),
        },
        missing: put.reduce((sum, one) => sum + one.missing, 0),
        numbers: { before: before.lastDocument, after: after.lastDocument },
      };
    } finally {
      await this.#session?.end();
    }
  }

  /** Throws why there is to be no drill now. */
  async #ready() {
    const { settings, version, here, requireWayBack, isOneWay } = this.#deps;
    const { lease, ready, session } = await this.#ask(async (asked) => {
      const overview = await readOverview(asked, settings.account);
      const others = overview.machines.filter(({ machine }) => machine !== settings.machine);
      const why = others.map((one) => `${one.machine}: ${whyNotReady(one, version) ?? ''}`);
      const found = others.find((one) => whyNotReady(one, version) === undefined);
      if (found === undefined) throw nobodyWaits(why);
      return { lease: overview.lease, ready: found, session: asked };
    });
    const before = await here();
    if (lease?.holder !== settings.machine || lease.handedOver) throw notSending();
    if (before?.token !== lease.token) throw notSending();
    if (before.waitsFor !== undefined) {
      throw new RefusedError('standby.catching_up', `this machine waits: ${before.waitsFor}`, {
        hint: 'look at "selvedge status"; then again',
      });
    }
    if (!isOneWay) await requireWayBack(session);
    this.#tell('ready', ready.machine, describeReady(ready));
    return { lease, before, ready };
  }

  async #give(to: string, { taking }: LeaseRow): Promise<void> {
    const { handOver, settings, clock } = this.#deps;
    const over = new AbortController();
    let movedAt: number | undefined;
    // A daemon that is stopped in the midst answers nothing, and its lease runs out. One that gave
    // it may answer a while after another machine has taken it.
    const lost = this.#until(GIVE_MS, async () => {
      const row = over.signal.aborted ? undefined : await this.#look();
      if (row !== undefined && row.taking !== taking) movedAt ??= clock.monotonic();
      const isLong = movedAt !== undefined && clock.monotonic() - movedAt >= settings.leaseMs;
      return over.signal.aborted || isLong || undefined;
    });
    const giving = handOver(to, over.signal).then(() => true);
    try {
      if (!(await Promise.race([giving, lost.then(() => false)]))) {
        const since = movedAt === undefined ? ' in time' : ', and the lease is another machine’s';
        this.#tell('says', settings.machine, `no answer${since}`);
        return;
      }
    } catch (thrown) {
      // The answer may be lost and the lease be given all the same: the row tells.
      if (!(thrown instanceof SelvedgeError) || thrown.code !== 'local.broken_off') throw thrown;
      this.#tell('says', settings.machine, thrown.message);
      return;
    } finally {
      over.abort();
      giving.catch(() => undefined);
      // A session asks one thing at a time.
      await lost;
    }
    this.#tell('handed over', settings.machine, 'nothing is being sent, and PostgreSQL has all');
  }

  async #untilTaken(before: LeaseRow): Promise<LeaseRow> {
    const { settings } = this.#deps;
    const row = await this.#until(TAKE_LEASES * settings.leaseMs, async () => {
      const found = await this.#look();
      return found && found.taking !== before.taking ? found : undefined;
    });
    if (row !== undefined && row.holder !== settings.machine) {
      this.#tell('taken', row.holder, 'restores its backup and plays the record');
      return row;
    }
    const what = row ? 'nobody took the lease: this machine took it back' : 'nobody took the lease';
    throw new RetryLaterError('standby.not_taken', what, {
      hint: 'look at the standby’s log; "selvedge standby status" shows who sends',
    });
  }

  /** Asks each holder for the lease until it is back. */
  async #untilBack(): Promise<void> {
    const { settings } = this.#deps;
    const { account, machine } = settings;
    let wished: string | undefined;
    let told = '';
    let last: LeaseRow | undefined;
    const hear = ({ holder, says }: LeaseRow, isGiven: boolean): void => {
      const text = isGiven ? 'gives the lease back' : (says ?? '');
      if (text !== told && text !== '') this.#tell(isGiven ? 'given back' : 'says', holder, text);
      told = text;
    };
    const back = await this.#until(this.#leftMs(), async () => {
      const row = await this.#look();
      if (row?.holder === machine) {
        // Given and taken between two looks: a lease that has ended is taken after its end.
        if (last !== undefined && row.takenAt < last.endsAt) hear(last, true);
        return row;
      }
      if (row === undefined) return undefined;
      last = row;
      hear(row, row.handedOver);
      if (row.handedOver || row.taking === wished) return undefined;
      // A daemon that starts takes its own lease again, by which a wish is forgotten.
      const wish = { to: machine, withinMs: this.#leftMs() };
      const isAsked = await this.#ask((session) => want(session, account, row.taking, wish));
      if (isAsked) wished = row.taking;
      return undefined;
    });
    if (back === undefined) return this.#withdraw(last);
    this.#backAt = this.#deps.clock.monotonic();
    this.#tell('back', machine, 'restores its backup and plays the record');
  }

  /** Withdraws the wish, and throws that the way back did not come. */
  async #withdraw(row: LeaseRow | undefined): Promise<never> {
    const { account } = this.#deps.settings;
    const isWithdrawn =
      row !== undefined &&
      (await this.#ask((session) => want(session, account, row.taking, null)).catch(() => false));
    const there = row?.holder ?? 'the other machine';
    const stays = isWithdrawn ? `${there} keeps the lease` : 'it may still come back by itself';
    const why = row?.says ?? 'its daemon has said nothing';
    throw new RetryLaterError('standby.not_back', `not back in time; ${stays}: ${why}`, {
      hint: 'look at "selvedge standby status", and type the drill there to come back',
    });
  }

  /** Waits until the daemon here sends, and goes on by itself. */
  async #untilSending(): Promise<HolderHere> {
    const { here, settings } = this.#deps;
    let why = 'its daemon has not started';
    const found = await this.#until(Math.max(this.#leftMs(), settings.leaseMs), async () => {
      const row = await this.#look();
      if (row?.holder !== settings.machine) {
        why = `${row?.holder ?? 'nobody'} holds the lease`;
        return undefined;
      }
      const now = await here();
      if (now === undefined || now.token !== row.token) return undefined;
      why = now.waitsFor ?? why;
      return now.waitsFor === undefined ? now : undefined;
    });
    if (found === undefined) {
      throw new RetryLaterError('standby.not_back', `this machine does not send yet: ${why}`, {
        hint: 'systemctl status selvedge; systemctl status selvedge-standby; selvedge status',
      });
    }
    this.#tell('sends', settings.machine, 'everything was read once; it decides and sends');
    return found;
  }

  /** Waits until the other machine could take over again. */
  async #untilWaits(other: string): Promise<void> {
    const { settings, version, clock } = this.#deps;
    let why: string | undefined;
    const found = await this.#until(Math.max(this.#leftMs(), settings.leaseMs), async () => {
      const { machines } = await this.#ask((session) => readOverview(session, settings.account));
      const seen = machines.find(({ machine }) => machine === other);
      const isNew = seen !== undefined && seen.seenMsAgo < clock.monotonic() - this.#backAt;
      why = whyNotReady(isNew ? seen : undefined, version);
      return why === undefined ? seen : undefined;
    });
    if (found === undefined) {
      throw new RetryLaterError('standby.nobody_waits', `${other} does not wait again: ${why}`, {
        hint: 'this machine sends; start the standby there (systemctl start selvedge-standby)',
      });
    }
    this.#tell('waits', other, describeReady(found));
  }

  #leftMs(): number {
    const { clock, withinMs } = this.#deps;
    return Math.max(0, this.#begunAt + withinMs - clock.monotonic());
  }

  #tell(step: DrillStep['step'], machine: string, says: string): void {
    const { clock, tell } = this.#deps;
    tell({ step, machine, says, atMs: Math.round(clock.monotonic() - this.#begunAt) });
  }

  #look(): Promise<LeaseRow | undefined> {
    return this.#ask((session) => readLease(session, this.#deps.settings.account));
  }

  /** Looks until there is something; undefined: time is up. PostgreSQL may be away meanwhile. */
  async #until<T>(withinMs: number, look: () => Promise<T | undefined>): Promise<T | undefined> {
    const { clock } = this.#deps;
    const end = clock.monotonic() + withinMs;
    for (;;) {
      const found = await look().catch((thrown: unknown) => {
        if (thrown instanceof RetryLaterError) return undefined;
        throw thrown;
      });
      if (found !== undefined || clock.monotonic() >= end) return found;
      await clock.sleep(LOOK_MS);
    }
  }

  async #ask<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const session = this.#session ?? (await this.#deps.servers.open());
    this.#session = session;
    try {
      return await work(session);
    } catch (thrown) {
      this.#session = undefined;
      await session.end();
      throw thrown instanceof SelvedgeError ? thrown : asStandbyError(thrown);
    }
  }
}

function nobodyWaits(why: readonly string[]): RefusedError {
  const all = why.length === 0 ? 'none has ever told of itself' : why.join('; ');
  return new RefusedError('standby.nobody_waits', `no standby could take over now: ${all}`, {
    hint: 'start it there (selvedge-standby), and look at "selvedge standby status"',
  });
}

function describeReady({ backupMsAgo, behind }: WaitingSeen): string {
  const age = formatDuration(Math.max(0, backupMsAgo ?? 0));
  return `waits, with a backup of ${age} ago and ${behind ?? 0} rows to play`;
}

/** Why a drill that came back was not as it should be; undefined: it was. */
export function whyUnclean({ inDoubt, missing, numbers }: DrillReport): string | undefined {
  if (inDoubt !== null && inDoubt.put > 0) return `${inDoubt.put} pushes were put in doubt`;
  if (missing > 0) return 'pushes are paused, because the record lacks something';
  if (numbers === null || numbers.after - numbers.before < JUMP) return undefined;
  return `numbers of documents jumped from ${numbers.before} to ${numbers.after}`;
}

export function runDrill(deps: DrillDeps): Promise<DrillReport> {
  return new Drill(deps).run();
}
