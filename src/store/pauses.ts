/**
 * Pauses: work that the daemon leaves undone until a person resumes it. Table `pause` has them,
 * each with its reason, who asked for it and since when. A file in the data folder pauses as well,
 * for when nothing else answers: it holds at once and has precedence over the table, and the daemon
 * writes it down there.
 *
 * Paused *pushes* stay in the outbox. Pausing *decisions* cancels the rules' decisions that were
 * not sent yet; those of people and documents of the ERP are still sent. A paused *stream* is not
 * pulled. *All* is the three together. Lookups, confirmations and events continue in any case.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { OUTBOX_KINDS, pausedWords } from '../config/words.ts';
import type { Clock } from '../lib/clock.ts';
import { errorCode, RefusedError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { nearestName } from '../lib/nearest.ts';
import { type Actor, writeAudit } from './audit.ts';
import type { Db, Store, Tx } from './store.ts';
import type { PauseTarget } from './tables.ts';

export const PAUSE_TARGETS = ['pushes', 'decisions', 'stream', 'all'] as const;

/**
 * Targets that a file can pause: the file `pushes.paused` pauses pushes, and contains the reason.
 */
export const FILE_TARGETS = ['pushes', 'decisions', 'all'] as const;

export interface Pausable {
  readonly target: PauseTarget;
  /** Kind of push, or name of the stream, that is paused; empty: all of the target. */
  readonly name: string;
}

export interface Pause extends Pausable, Actor {
  /** Begin of the pause, epoch ms. */
  readonly at: number;
}

/** Actor of a pause by a file in the data folder, which ends with the file. */
export const FILE_ACTOR = 'file';
const REASON_CHARS_MAX = 500;

export function pauseFile(dataDir: string, target: PauseTarget): string {
  return join(dataDir, `${target}.paused`);
}

function filePause(dataDir: string, target: PauseTarget): Pause | undefined {
  const file = pauseFile(dataDir, target);
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found) return undefined;
  let reason: string;
  try {
    reason = readFileSync(file, 'utf8').trim().slice(0, REASON_CHARS_MAX) || 'without a reason';
  } catch {
    // A file that only root may read pauses, too.
    reason = `the reason in ${file} cannot be read by this user`;
  }
  return { target, name: '', actor: FILE_ACTOR, reason, at: Math.round(found.mtimeMs) };
}

function isSame(a: Pausable, b: Pausable): boolean {
  return a.target === b.target && a.name === b.name;
}

/** Names in the folder, by one look; undefined: it cannot be listed, and each is asked for. */
function namesIn(dataDir: string): readonly string[] | undefined {
  try {
    return readdirSync(dataDir);
  } catch {
    return undefined;
  }
}

function filePauses(dataDir: string): Pause[] {
  const names = namesIn(dataDir);
  return FILE_TARGETS.flatMap((target) => {
    const mayBeThere = names?.includes(basename(pauseFile(dataDir, target))) ?? true;
    return mayBeThere ? (filePause(dataDir, target) ?? []) : [];
  });
}

/** Pauses of the table and of the files together; a pause by a file that is gone is over. */
function withFiles(rows: readonly Pause[], files: readonly Pause[]): Pause[] {
  const others = rows.filter(
    (row) => row.actor !== FILE_ACTOR && !files.some((file) => isSame(file, row)),
  );
  return [...files, ...others];
}

function readTable(db: Db | Tx): Promise<Pause[]> {
  return db.selectFrom('pause').selectAll().orderBy('at').orderBy('target').execute();
}

/**
 * Reads the pauses. Without `dataDir` it reads only the table, where a running daemon has written
 * those by files.
 */
export async function readPauses(db: Db | Tx, dataDir?: string): Promise<Pause[]> {
  const rows = await readTable(db);
  return dataDir === undefined ? rows : withFiles(rows, filePauses(dataDir));
}

/** The pause that covers this target and name, the widest first. */
export function pauseOf(
  pauses: readonly Pause[],
  target: PauseTarget,
  name: string,
): Pause | undefined {
  const of = (one: Pausable) => pauses.find((pause) => isSame(pause, one));
  return of({ target: 'all', name: '' }) ?? of({ target, name: '' }) ?? of({ target, name });
}

/** Name of a pause in the audit and in messages: `pushes`, `pushes:order`, `stream:stock`. */
function labelOf({ target, name }: Pausable): string {
  return name === '' ? target : `${target}:${name}`;
}

/** Reads the name of a pause; undefined: it is none. */
export function pausableOf(label: string): Pausable | undefined {
  const [head = '', ...rest] = label.split(':');
  const target = PAUSE_TARGETS.find((one) => one === head);
  return target && { target, name: rest.join(':') };
}

/** Remark for people above what the pause holds up. */
export function pauseNote(pause: Pause): string {
  return `PAUSED: ${pausedWords(pause)}, by ${pause.actor}: ${pause.reason}`;
}

export function describePause(pause: Pause): string {
  return `paused by ${pause.actor} (${pausedWords(pause)}): ${pause.reason}`;
}

/** Describes how a person ends the pause. */
export function resumeStep({ target, name, actor }: Pause): string {
  if (actor === FILE_ACTOR) return `remove the file ${target}.paused from the data folder`;
  const option = target === 'pushes' && name !== '' ? '--kind ' : '';
  return `selvedge resume ${`${target} ${option}${name}`.trim()} --reason "…"`;
}

/** Writes a pause, and replaces one of the same target and name. */
export async function writePause(tx: Tx, pause: Pause): Promise<void> {
  const { target, name, reason, actor, at } = pause;
  await tx
    .insertInto('pause')
    .values({ target, name, reason, actor, at })
    .onConflict((conflict) =>
      conflict.columns(['target', 'name']).doUpdateSet({ reason, actor, at }),
    )
    .execute();
}

/** The pauses at the moment of a look. */
export interface PauseLook {
  readonly pauses: readonly Pause[];
  /** Reason for which the target is paused; undefined: it is not paused. */
  reason(target: PauseTarget, name?: string): string | undefined;
  /**
   * Differs once a pause has begun, by which work that waited meanwhile notices a pause that is
   * already over.
   */
  readonly mark: string;
}

export interface Pauses {
  /** Looks at the files once. Loops look once a round, and before what cannot be undone. */
  look(): PauseLook;
  list(): readonly Pause[];
  /** Reason for which the target is paused by a look of its own; undefined: it is not paused. */
  reason(target: PauseTarget, name?: string): string | undefined;
  /** Begins a pause. Throws RefusedError when this very target is paused already. */
  pause(what: Pausable, actor: Actor): Promise<Pause>;
  /**
   * Ends a pause and returns it. Throws RefusedError when there is none, or when its file still
   * exists.
   */
  resume(what: Pausable, actor: Actor): Promise<Pause>;
  /** Refuses what {@link pause} would refuse. */
  requirePausable(what: Pausable): Promise<void>;
  /** Gives the pause that {@link resume} would end, and refuses what it would refuse. */
  resumable(what: Pausable): Promise<Pause>;
  /**
   * Writes pauses by files to the table, and removes those whose file is gone; gives what it saw.
   */
  followFiles(): Promise<PauseLook>;
  /** Calls `task` whenever something was paused or resumed. */
  onChanged(task: () => void): void;
}

export interface PausesDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly dataDir: string;
  readonly streams: readonly string[];
  /** Cancels the rules' decisions that were not sent yet, and returns how many there were. */
  readonly cancelDecided: (tx: Tx, reason: string, at: number) => Promise<number>;
  /** Gives the refusal to end a pause where something must be looked at first. */
  readonly beforeResume?: (tx: Tx, what: Pausable) => Promise<RefusedError | undefined>;
}

function requireKnown({ target, name }: Pausable, streams: readonly string[]): void {
  const parts: Partial<Record<PauseTarget, readonly string[]>> = {
    pushes: OUTBOX_KINDS,
    stream: streams,
  };
  const names = parts[target] ?? [];
  if (name === '' ? target !== 'stream' : names.includes(name)) return;
  const near = nearestName(name, names);
  const known = names.length === 0 ? `${target} has no parts` : `known are ${names.join(', ')}`;
  throw new RefusedError('pause.unknown', `there is no ${target} ${name}`, {
    hint: near === undefined ? known : `did you mean ${near}?`,
  });
}

async function requireUnpaused(db: Db | Tx, what: Pausable): Promise<void> {
  const by = (await readTable(db)).find((row) => isSame(row, what));
  if (!by) return;
  const message = `${pausedWords(what)} is paused already: ${describePause(by)}`;
  throw new RefusedError('pause.paused', message, { hint: `to go on: ${resumeStep(by)}` });
}

/** Begins a pause, and returns the number of canceled decisions. */
async function begin(tx: Tx, { cancelDecided }: PausesDeps, pause: Pause): Promise<number> {
  const { target, actor, reason, via, at } = pause;
  await requireUnpaused(tx, pause);
  await writePause(tx, pause);
  const isOfRules = target === 'decisions' || target === 'all';
  const canceled = isOfRules ? await cancelDecided(tx, describePause(pause), at) : 0;
  const act = { action: 'pause', subject: labelOf(pause), detail: { canceled } };
  await writeAudit(tx, { actor, reason, via, ...act }, at);
  return canceled;
}

async function pausedIn(db: Db | Tx, { dataDir }: PausesDeps, what: Pausable): Promise<Pause> {
  const rows = await readTable(db);
  const found = rows.find((row) => isSame(row, what));
  if (found) return found;
  const others = withFiles(rows, filePauses(dataDir)).map(pausedWords).join(', ') || 'nothing';
  const hint = `paused: ${others}`;
  throw new RefusedError('pause.not_paused', `${pausedWords(what)} is not paused`, { hint });
}

async function end(
  tx: Tx,
  deps: PausesDeps,
  what: Pausable,
  { actor, reason, via }: Actor,
): Promise<Pause> {
  const ended = await pausedIn(tx, deps, what);
  const { target, name } = what;
  await tx.deleteFrom('pause').where('target', '=', target).where('name', '=', name).execute();
  const act = { action: 'resume', subject: labelOf(what), detail: { ended } };
  await writeAudit(tx, { actor, reason, via, ...act }, deps.clock.now());
  return ended;
}

/** Ends a pause; a refusal is given, because what it has found must be committed. */
async function endUnlessLate(
  tx: Tx,
  deps: PausesDeps,
  what: Pausable,
  who: Actor,
): Promise<Pause | RefusedError> {
  return (await deps.beforeResume?.(tx, what)) ?? (await end(tx, deps, what, who));
}

/** Refuses to end a pause by hand whose file is still there. */
function requireNoFile(dataDir: string, what: Pausable): void {
  const file = pauseFile(dataDir, what.target);
  if (what.name !== '' || !existsSync(file)) return;
  const hint = `remove ${file}`;
  throw new RefusedError('pause.file', `${pausedWords(what)} is paused by a file`, { hint });
}

/** Ignores a refusal: a person has paused or resumed the target meanwhile. */
function unlessRefused(error: unknown): void {
  if (!(error instanceof RefusedError)) throw error;
}

/**
 * Tells why a pause should not end whose file is gone: it is over all the same, and what was taken
 * over meanwhile is committed.
 */
function tellRefused(log: Logger, target: PauseTarget) {
  return (error: unknown): void => {
    unlessRefused(error);
    if (errorCode(error) === 'pause.not_paused') return;
    log.warn({ err: error, resumed: target }, 'the file is gone, but there is more to look at');
  };
}

function lookOf(pauses: readonly Pause[], mark: string): PauseLook {
  return {
    pauses,
    mark,
    reason(target, name = '') {
      const by = pauseOf(pauses, target, name);
      return by && describePause(by);
    },
  };
}

export async function openPauses(deps: PausesDeps): Promise<Pauses> {
  const { store, clock, log, dataDir } = deps;
  let rows: readonly Pause[] = await readTable(store.db);
  const tasks: (() => void)[] = [];
  let begun = 0;

  /**
   * Changes the pauses. A pause holds even before its commit, so that no push is sent meanwhile.
   */
  const change = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => {
    const transaction = store.transaction(async (tx) => {
      const result = await work(tx);
      rows = await readTable(tx);
      return result;
    });
    const result = await transaction.catch(async (error: unknown) => {
      rows = await readTable(store.db);
      throw error;
    });
    for (const task of tasks) task();
    return result;
  };
  const pause = async (wanted: Pause): Promise<Pause> => {
    const canceled = await change((tx) => {
      begun += 1;
      return begin(tx, deps, wanted);
    });
    const { actor, reason } = wanted;
    log.warn({ paused: labelOf(wanted), actor, reason, canceled }, 'paused');
    return wanted;
  };
  const resume = async (what: Pausable, who: Actor): Promise<Pause> => {
    const ended = await change((tx) => endUnlessLate(tx, deps, what, who));
    if (ended instanceof RefusedError) throw ended;
    log.warn({ resumed: labelOf(what), actor: who.actor, reason: who.reason }, 'resumed');
    return ended;
  };
  const look = (files = filePauses(dataDir)): PauseLook => {
    const mark = `${begun} ${files.map(({ target }) => target)}`;
    return lookOf(withFiles(rows, files), mark);
  };
  return {
    onChanged: (task) => void tasks.push(task),
    look: () => look(),
    list: () => look().pauses,
    reason: (target, name) => look().reason(target, name),
    async pause({ target, name }, { actor, reason, via }) {
      requireKnown({ target, name }, deps.streams);
      return pause({ target, name, reason, actor, via, at: clock.now() });
    },
    async resume(what, actor) {
      requireKnown(what, deps.streams);
      requireNoFile(dataDir, what);
      return resume(what, actor);
    },
    async requirePausable(what) {
      requireKnown(what, deps.streams);
      await requireUnpaused(store.db, what);
    },
    async resumable(what) {
      requireKnown(what, deps.streams);
      requireNoFile(dataDir, what);
      return pausedIn(store.db, deps, what);
    },
    async followFiles() {
      const files = filePauses(dataDir);
      for (const target of FILE_TARGETS) {
        const file = files.find((one) => one.target === target);
        const row = rows.find((one) => isSame(one, { target, name: '' }));
        if (file && !row) await pause({ ...file, at: clock.now() }).catch(unlessRefused);
        if (file || row?.actor !== FILE_ACTOR) continue;
        const reason = `the file ${target}.paused is gone`;
        await resume(row, { actor: FILE_ACTOR, reason }).catch(tellRefused(log, target));
      }
      return look(files);
    },
  };
}
