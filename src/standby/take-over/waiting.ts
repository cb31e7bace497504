/**
 * The machine that waits. It reads the lease each second and judges it by its own clock; it also
 * tells how far its newest backup is. It takes over only if it could go on from there.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { RefusedError, SelvedgeError, toError } from '../../lib/errors.ts';
import { createOutages } from '../../lib/log/outages.ts';
import type { Restored } from '../../store/backup/restore.ts';
import { createJudge, type LeaseRow, look, type Verdict } from '../lease.ts';
import { asStandbyError } from '../refusal.ts';
import { requireSchema } from '../schema.ts';
import { literal, type Session } from '../session.ts';
import type { StandbySettings } from '../settings.ts';
import { type StandbyStatus, writeStandbyStatus } from '../status-file.ts';
import { type Chosen, chooseBackup, readMeasure } from './choose-backup.ts';
import { setAside } from './set-aside.ts';
import { cannotTakeOver, type TakeOverDeps, takeOver } from './take-over.ts';

export interface WaitingDeps extends TakeOverDeps {
  /** Version of the program, which the other machine's must not differ from. */
  readonly version: string;
}

/** How it ended: with a database from which the daemon starts. */
export type Ended =
  | { readonly how: 'taken'; readonly restored: Restored }
  /** The lease was this data folder's all the while. */
  | { readonly how: 'own' };

const LOOK_MS = 1_000;
/** How often the newest backup is looked for, and told of. */
const TELL_MS = 30_000;

interface Ready {
  readonly chosen?: Chosen;
  readonly error?: SelvedgeError;
}

/** Whether the lease is free for this machine. */
export function mayTake(
  row: Pick<LeaseRow, 'taking' | 'wantedBy'>,
  { quietMs, isFree }: Verdict,
  { memory, settings }: Pick<TakeOverDeps, 'memory'> & { readonly settings: Timed },
): boolean {
  const lateMs = settings.leaseMs + settings.renewMs;
  // Our own taking without a database is a take-over that was cut off. One that was so twice may
  // fail here each time: another machine has the chance to take it first.
  if (memory.isOwn(row.taking)) {
    return memory.proofOf(row.taking)?.isAgain === false || quietMs >= 2 * lateMs;
  }
  const isForOther = row.wantedBy !== null && row.wantedBy !== settings.machine;
  return isFree && (!isForOther || quietMs >= lateMs);
}

type Timed = Pick<StandbySettings, 'leaseMs' | 'renewMs' | 'machine'>;

class WaitingMachine {
  readonly #deps: WaitingDeps;
  readonly #judge;
  readonly #outages;
  #session: Session | undefined;
  #ready: Ready = {};
  #toldAt = Number.NEGATIVE_INFINITY;
  #row: LeaseRow | undefined;
  #isAside = false;

  constructor(deps: WaitingDeps) {
    this.#deps = deps;
    this.#judge = createJudge(deps.settings);
    this.#outages = createOutages<string>(deps, {
      of: 'what',
      begins: 'this standby could not take over now',
      over: 'this standby could take over again',
      hint: 'docs/operating/standby.md',
    });
  }

  async run(signal: AbortSignal): Promise<Ended | undefined> {
    const { clock, settings } = this.#deps;
    while (!signal.aborted) {
      const ended = await this.#step().catch((thrown: unknown) => this.#failed(thrown));
      if (ended !== undefined) return ended;
      await clock.sleep(Math.min(LOOK_MS, settings.renewMs / 2), signal).catch(() => undefined);
    }
    await this.#session?.end();
    return undefined;
  }

  /** Takes over at once, if the holder does not move for as long as it may take to renew. */
  async takeNow(isForced: boolean, signal: AbortSignal): Promise<Ended> {
    const { clock, settings } = this.#deps;
    const before = await this.#look();
    await clock.sleep(settings.renewMs + settings.timeoutMs, signal);
    const { row, own } = await this.#look();
    if (own) return own;
    if (row === undefined) throw nobodyYet();
    const isAlive = row.beat !== before.row?.beat || row.taking !== before.row.taking;
    if (isAlive && !row.handedOver && !isForced) {
      throw new RefusedError('standby.alive', `${row.holder} holds the lease and renews it`, {
        hint: 'have it hand over (selvedge standby drill), or cut it off and use --force',
      });
    }
    await this.#measure();
    if (this.#ready.error) throw cannotTakeOver(this.#ready.error);
    this.#setAside();
    const taken = await this.#take(row);
    if (taken) return taken;
    throw new RefusedError('standby.moved', 'the lease has moved meanwhile', {
      hint: 'look at "selvedge standby status", then again',
    });
  }

  async #step(): Promise<Ended | undefined> {
    const { row, verdict, own } = await this.#look();
    if (own) return own;
    const { memory } = this.#deps;
    if (row?.handedOver === true && memory.isOwn(row.taking)) return this.#waitForOther(verdict);
    // The files here may be those that the first holder is to begin with.
    if (row === undefined) throw nobodyYet();
    this.#setAside();
    await this.#measure();
    if (this.#ready.error) throw cannotTakeOver(this.#ready.error);
    this.#outages.over('standby');
    this.#tell('waiting');
    return verdict && mayTake(row, verdict, this.#deps) ? this.#take(row) : undefined;
  }

  /** Waits for the machine to which this one has handed over, for as long as it may take. */
  #waitForOther(verdict: Verdict | undefined): Ended | undefined {
    const { leaseMs, renewMs, dataDir } = this.#deps.settings;
    this.#tell('waiting');
    const isOver = (verdict?.quietMs ?? 0) >= leaseMs + renewMs;
    return isOver && existsSync(join(dataDir, 'mirror.db')) ? { how: 'own' } : undefined;
  }

  async #take(row: LeaseRow): Promise<Ended | undefined> {
    if (this.#ready.error) throw cannotTakeOver(this.#ready.error);
    this.#tell('taking_over');
    const restored = await takeOver(this.#deps, row);
    if (restored === undefined) {
      // The row may have been seen on an old primary: next is the server that was asked.
      this.#judge.missed();
      await this.#session?.end();
      this.#session = undefined;
      return undefined;
    }
    await this.#session?.end();
    return { how: 'taken', restored };
  }

  async #look(): Promise<{
    readonly row: LeaseRow | undefined;
    readonly verdict: Verdict | undefined;
    readonly own?: Ended;
  }> {
    const { servers, settings, clock, memory } = this.#deps;
    try {
      if (this.#session?.lost.aborted !== false) {
        this.#session = await servers.open();
        await requireSchema(this.#session, settings.schema);
      }
    } catch (thrown) {
      this.#judge.missed();
      throw thrown;
    }
    const seen = await look(this.#session, settings.account, this.#judge, clock);
    this.#row = seen.row;
    const isOwn = seen.row !== undefined && memory.isOwn(seen.row.taking) && !seen.row.handedOver;
    const isWhole = existsSync(join(settings.dataDir, 'mirror.db'));
    return isOwn && isWhole ? { ...seen, own: { how: 'own' } } : seen;
  }

  #setAside(): void {
    const { config, clock, log } = this.#deps;
    if (this.#isAside) return;
    setAside(config, clock.now(), (folder) => {
      log.warn({ folder }, 'what this machine had before is set aside');
    });
    this.#isAside = true;
  }

  /** Looks for the backup to go on from, and tells the others how far this machine is. */
  async #measure(): Promise<void> {
    const { config, settings, clock, version } = this.#deps;
    const session = this.#session;
    if (session === undefined || clock.monotonic() - this.#toldAt < TELL_MS) return;
    try {
      const measure = await readMeasure(session, settings.account);
      this.#ready = { chosen: await chooseBackup(config, measure, clock.now()) };
    } catch (thrown) {
      const error = asStandbyError(thrown);
      if (error.code !== 'standby.no_backup') throw thrown;
      this.#ready = { error };
    }
    const { chosen } = this.#ready;
    const madeAt = chosen ? literal(chosen.backup.manifest.createdAt) : 'null';
    await session.ask(
      `insert into standby_machine (account, machine, at, version, backup_at, backup_place)
       values (${literal(settings.account)}, ${literal(settings.machine)}, clock_timestamp(),
         ${literal(version)}, ${madeAt}, ${literal(chosen?.beginning.place ?? null)})
       on conflict (account, machine) do update set at = excluded.at, version = excluded.version,
         backup_at = excluded.backup_at, backup_place = excluded.backup_place`,
    );
    this.#toldAt = clock.monotonic();
  }

  async #failed(thrown: unknown): Promise<undefined> {
    // A restore that failed ends the process; the next one goes on with the lease that it took.
    if (!(thrown instanceof SelvedgeError && thrown.code.startsWith('standby.'))) throw thrown;
    const error = thrown;
    if (error.code !== 'standby.not_ready' && error.code !== NOBODY) {
      await this.#session?.end();
      this.#session = undefined;
    }
    this.#outages.note('standby', error.message, { code: error.code, hint: error.hint });
    this.#tell('waiting', error);
  }

  #tell(state: StandbyStatus['state'], error?: SelvedgeError): void {
    const { settings, clock, log } = this.#deps;
    const row = this.#row;
    const { chosen } = this.#ready;
    try {
      writeStandbyStatus(settings.dataDir, {
        at: clock.now(),
        role: 'standby',
        state,
        account: settings.account,
        machine: settings.machine,
        acknowledge: settings.acknowledge,
        waiting: 0,
        place: chosen?.beginning.place ?? 0,
        ...(chosen && { backupAt: Date.parse(chosen.backup.manifest.createdAt) }),
        ...(row && {
          holder: row.holder,
          since: row.takenAt,
          token: row.token,
          timeline: row.timeline,
        }),
        ...(error && { error: { code: error.code, message: error.message, hint: error.hint } }),
      });
    } catch (thrown) {
      log.debug({ err: toError(thrown).message }, 'the status file could not be written');
    }
  }
}

const NOBODY = 'standby.nobody';

function nobodyYet(): RefusedError {
  return new RefusedError(NOBODY, 'nobody has held the lease yet', {
    hint: 'start the daemon on the first machine',
  });
}

/** Waits until this machine has taken over, or the signal aborts (undefined). */
export function waitAndTakeOver(
  deps: WaitingDeps,
  signal: AbortSignal,
): Promise<Ended | undefined> {
  return new WaitingMachine(deps).run(signal);
}

/** Takes over by hand, without the wait for the lease to end. */
export function takeOverNow(
  deps: WaitingDeps,
  { isForced, signal }: { readonly isForced: boolean; readonly signal: AbortSignal },
): Promise<Ended> {
  return new WaitingMachine(deps).takeNow(isForced, signal);
}
