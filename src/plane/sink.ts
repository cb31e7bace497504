/**
 * Follows the mirror and its ledgers into the plane. Reads what changed since the cursor, in one
 * short snapshot, as keys; reads those rows as they are now; writes them and the cursor in one
 * transaction of PostgreSQL: a stop at any moment leaves both as before or both as after. Where the
 * feeds do not go on from the cursor (a restore, a database that was put back, entries that
 * retention has deleted) the copy is compared or made again, and the log says so.
 */
import type { Clock } from '../lib/clock.ts';
import { SelvedgeError, StoreError, toError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { type Cell, type Cursor, cellOf, moveCursor, readCursor, requireQuiet } from './cursor.ts';
import { type Connect, deleteRows, type PlaneClient, quoted, writeRows } from './postgres.ts';
import { copyWhole } from './rebuild.ts';
import { ensureSchema, requireSchema } from './schema.ts';
import type { MirrorReader, Source } from './source.ts';
import {
  type PlaneStatus,
  readPlaneStatus,
  STATUS_EVERY_MS,
  writePlaneStatus,
} from './status-file.ts';
import { type CopyStep, type FollowStep, readStep } from './step.ts';

interface SinkSettings {
  readonly account: string;
  readonly schema: string;
  readonly everyMs: number;
  /** Folder of the status file. */
  readonly dataDir: string;
  /** Left out: of this data folder, without limits of its streams. */
  readonly cell?: Cell;
}

export interface SinkDeps {
  readonly source: Source;
  readonly connect: Connect;
  readonly settings: SinkSettings;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface PassResult {
  readonly did: 'nothing' | 'followed' | 'rebuilt' | 'reconciled';
  /** Entries of both feeds that the copy now has. */
  readonly entries: number;
  /** Rows that were written or removed. */
  readonly rows: number;
  /** There is more to do at once. */
  readonly hasMore: boolean;
  readonly lagMs: number;
}

const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 60_000;
/** A pass has so long to end by itself when the process is stopped. */
const STOP_MS = 2_000;
/** After a pass that found something so many come at this part of `every`. */
const HASTE = 10;

/** Writes what a pass has read; the cursor comes first, because its row keeps others out. */
async function writeStep(client: PlaneClient, step: FollowStep): Promise<number> {
  const { from, to, tables } = step;
  const { account } = from;
  return client.transaction(async () => {
    await moveCursor(client, from, to);
    let written = 0;
    for (const { table, by, gone, rows } of tables) {
      const texts = rows.map(({ row }) => row);
      await deleteRows(client, table, account, by, gone);
      await writeRows(client, table, account, texts);
      written += gone.length + rows.length;
    }
    if (to.firstSeq > from.firstSeq) {
      const gone = [account, to.firstSeq];
      await client.query(`delete from ${quoted('change')} where account = $1 and seq < $2`, gone);
    }
    return written;
  });
}

interface Session {
  readonly client: PlaneClient;
  cursor: Cursor | undefined;
}

/** Errors of PostgreSQL have a code; the others are of the mirror. */
function asSinkError(thrown: unknown): SelvedgeError {
  if (thrown instanceof SelvedgeError) return thrown;
  return new StoreError('plane.mirror_unreadable', toError(thrown).message, {
    hint: 'check dataDir, and that this user may read mirror.db; "selvedge doctor" tells more',
    cause: thrown,
  });
}

const NOTHING = { did: 'nothing', entries: 0, rows: 0 } as const;

export class Sink {
  readonly #deps: SinkDeps;
  readonly #cell: Cell;
  /** When the sink of this data folder last wrote the cursor. */
  #writtenAt: number | undefined;
  #session: Session | undefined;
  /** Cuts the session; set once the process has to end. */
  readonly #cut = new AbortController();
  /** Last known place of the copy, while PostgreSQL cannot be asked. */
  #known: Pick<Cursor, 'change' | 'ledger'> | undefined;
  /** When the status was last written, on the clock that never goes back. */
  #statusAt = Number.NEGATIVE_INFINITY;

  constructor(deps: SinkDeps) {
    this.#deps = deps;
    const { account, dataDir, cell = cellOf(dataDir) } = deps.settings;
    this.#cell = cell;
    const before = readPlaneStatus(dataDir);
    if (before?.account === account) this.#writtenAt = before.writtenAt;
  }

  /** Does one step. Throws a SelvedgeError, after which the next pass begins with a new session. */
  async pass(): Promise<PassResult> {
    const { clock, settings } = this.#deps;
    try {
      const result = await this.#pass();
      const isDue =
        clock.monotonic() - this.#statusAt >= Math.min(settings.everyMs, STATUS_EVERY_MS);
      if (isDue || result.did !== 'nothing') this.#tell('following', result.lagMs);
      return result;
    } catch (thrown) {
      const error = asSinkError(thrown);
      await this.close();
      // A session that was cut for a stop is no trouble.
      if (!this.#cut.signal.aborted) this.#tell('waiting', this.#lagNow(), error);
      throw error;
    }
  }

  /** Follows until the signal aborts; waits ever longer while something is wrong. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, settings } = this.#deps;
    signal.addEventListener('abort', () =>
      clock.after(STOP_MS, () => this.#cut.abort(new Error('the process stops'))),
    );
    let waitMs = RETRY_MS_MIN;
    let told: string | undefined;
    let idlePasses = 0;
    while (!signal.aborted) {
      let pauseMs = waitMs;
      try {
        const { hasMore, did } = await this.pass();
        if (told !== undefined) log.info('the copy goes on');
        told = undefined;
        waitMs = RETRY_MS_MIN;
        if (hasMore) continue;
        idlePasses = did === 'nothing' ? idlePasses + 1 : 0;
        pauseMs = settings.everyMs / (idlePasses > HASTE ? 1 : HASTE);
      } catch (thrown) {
        const { code, message, hint } = asSinkError(thrown);
        if (told !== code && !signal.aborted) log.warn({ code, hint }, message);
        told = code;
        waitMs = Math.min(RETRY_MS_MAX, waitMs * 2);
      }
      await clock.sleep(pauseMs, signal).catch(() => undefined);
    }
    await this.close();
  }

  /** Ends the session; the next pass begins another. */
  async close(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    await session?.client.end();
  }

  async #pass(): Promise<PassResult> {
    const { source, clock } = this.#deps;
    const reader = source.reader();
    this.#session ??= await this.#open(reader);
    const { client, cursor } = this.#session;
    this.#known = cursor ?? this.#known;
    const now = clock.now();
    const step = reader.snapshot(() => readStep(reader, cursor, now));
    if (step.do !== 'follow') return this.#copy(this.#session, reader, step);
    const { from, entries, hasMore, lagMs } = step;
    const to = { ...step.to, ...this.#cell };
    // A new copy is late until it is said to be whole.
    const isDue =
      from.completeAt === undefined ||
      now - from.writtenAt >= STATUS_EVERY_MS ||
      to.firstSeq > from.firstSeq;
    if (entries === 0 && !isDue) return { ...NOTHING, hasMore, lagMs };
    const rows = await writeStep(client, { ...step, to });
    this.#moveTo(this.#session, to);
    return { did: entries === 0 ? 'nothing' : 'followed', entries, rows, hasMore, lagMs };
  }

  async #open(reader: MirrorReader): Promise<Session> {
    const { connect, settings, log } = this.#deps;
    const client = await connect(this.#cut.signal);
    try {
      await requireSchema(client);
      const isNew = await ensureSchema(client, settings.schema, reader.tables);
      if (isNew) log.info('the schema of the plane is that of this program now');
      return { client, cursor: await readCursor(client, settings.account) };
    } catch (thrown) {
      await client.end();
      throw thrown;
    }
  }

  async #copy(session: Session, reader: MirrorReader, step: CopyStep): Promise<PassResult> {
    const { settings, clock, log } = this.#deps;
    if (session.cursor !== undefined && session.cursor.writtenAt !== this.#writtenAt) {
      await requireQuiet(session.client, settings.account);
    }
    const isRebuild = step.do === 'rebuild';
    log.warn({ why: step.why }, isRebuild ? 'the copy is made again' : 'the copy is compared');
    this.#tell(isRebuild ? 'rebuilding' : 'reconciling', this.#lagNow());
    const now = () => clock.now();
    const own = { account: settings.account, cell: this.#cell };
    const deps = { client: session.client, reader, ...own, now };
    const { written, removed, cursor } = await copyWhole(deps, session.cursor, step.do);
    this.#moveTo(session, cursor);
    log.info({ written, removed }, isRebuild ? 'the copy is made' : 'the copy is right again');
    const did = isRebuild ? 'rebuilt' : 'reconciled';
    return { did, entries: 0, rows: written + removed, hasMore: true, lagMs: this.#lagNow() };
  }

  #moveTo(session: Session, cursor: Cursor): void {
    session.cursor = cursor;
    this.#known = cursor;
    this.#writtenAt = cursor.writtenAt;
  }

  /** Age of the oldest change that is not in the copy. */
  #lagNow(): number {
    const { source, clock } = this.#deps;
    const now = clock.now();
    try {
      const reader = source.reader();
      const next = (['change', 'ledger_change'] as const).flatMap((name) => {
        const place = name === 'change' ? this.#known?.change : this.#known?.ledger;
        return reader.entries(name, place?.seq ?? 0, 1).map(({ at }) => at);
      });
      return Math.max(0, now - Math.min(now, ...next));
    } catch {
      // The mirror cannot be read either: the error that is told says so.
      return 0;
    }
  }

  #tell(state: PlaneStatus['state'], lagMs: number, error?: SelvedgeError): void {
    const { clock, log, settings } = this.#deps;
    this.#statusAt = clock.monotonic();
    const { code, message, hint } = error ?? {};
    try {
      writePlaneStatus(settings.dataDir, {
        at: clock.now(),
        state,
        account: settings.account,
        seq: this.#known?.change.seq ?? 0,
        ledgerSeq: this.#known?.ledger.seq ?? 0,
        lagMs,
        writtenAt: this.#writtenAt,
        ...(code !== undefined && message !== undefined && { error: { code, message, hint } }),
      });
    } catch (thrown) {
      // A full disk must not keep the copy from going on.
      log.debug({ err: toError(thrown).message }, 'the status file could not be written');
    }
  }
}

export function createSink(deps: SinkDeps): Sink {
  return new Sink(deps);
}
