/**
 * Scans the drop folder: finds ready files and reads them. Names that begin with a dot or do not
 * end in `.json` are skipped, and so is a file that still grows. Links are not followed: anyone who
 * may write the folder must not read other files through the daemon.
 */
import { constants, type Dirent, type Stats } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../lib/clock.ts';
import { isJsonObject, sha256 } from '../../lib/json.ts';
import type { Logger } from '../../lib/log.ts';
import type { Store } from '../../store/store.ts';
import type { Problem } from '../documents.ts';
import { type Envelope, readDocuments, readEnvelope } from './envelope.ts';
import type { Intake } from './intake.ts';

export interface FolderScan {
  readonly folder: string;
  readonly clock: Clock;
  /** Milliseconds for which a file must be unchanged before it is read. */
  readonly settleMs: number;
  readonly fileBytesMax: number;
}

export interface FolderChannelDeps extends FolderScan {
  readonly store: Store;
  readonly intake: Intake;
  readonly log: Logger;
  /** Milliseconds for which files stay in `done` and `refused`. */
  readonly keepMs: number;
}

/**
 * Checks that files do not grow: each file's last mark, and the monotonic time since when it is the
 * same.
 */
export type SizeChecks = Map<string, { readonly mark: string; readonly since: number }>;

export interface FileContent {
  /** Mark of the file that was read, because another file may have its name by now. */
  readonly mark: string;
  readonly sha256: string;
  readonly entries: readonly FileEntry[];
  /** Content as it was when it had this size; undefined: it was not larger, or cannot tell. */
  asOfSize(size: number): Pick<FileContent, 'sha256' | 'entries'> | undefined;
}

const FILES_PER_ROUND = 100;
/** Maximum length of a file name, which leaves room for the endings of receipts and older files. */
const NAME_BYTES_MAX = 255 - '.'.length - '.0123456789ab'.length - '.receipt.json.tmp'.length;

/** Pattern of names of document files; the ending may be in capitals and have trailing spaces. */
const DOCUMENT_NAME = /\.json\s*$/i;
const RECEIPT_NAME = /\.receipt\.json\s*$/i;

/**
 * Whether a file with this name is submitted; a leading dot means that it is still being written.
 */
export function isToBeTaken(name: string): boolean {
  return DOCUMENT_NAME.test(name) && !name.startsWith('.');
}

/** Returns why a directory entry is never submitted; undefined: it may be. */
function obstacleIn(found: Dirent): string | undefined {
  const { name } = found;
  if (found.isDirectory()) return 'it is a folder';
  if (!found.isFile()) return 'it is no file (a link counts as such)';
  const bytes = Buffer.byteLength(name);
  if (bytes > NAME_BYTES_MAX) {
    return `its name has ${bytes} bytes; ${NAME_BYTES_MAX} are the most`;
  }
  if (RECEIPT_NAME.test(name)) return 'it is named like a receipt';
  // A name that is no UTF-8 cannot be passed on, not even to open the file.
  return name.includes('\uFFFD') ? 'its name is not UTF-8' : undefined;
}

export async function orMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isJsonObject(error) && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

export function markOf({ ino, size, mtimeMs }: Stats): string {
  return `${ino}/${size}/${mtimeMs}`;
}

/** Size of the file with this mark, in bytes. */
export function sizeIn(mark: string): number {
  return Number(mark.split('/')[1]);
}

export async function isMissing(path: string): Promise<boolean> {
  return (await orMissing(stat(path))) === undefined;
}

/** Whether the file with this name is still the one that was read. */
export async function isAsRead(path: string, { mark }: FileContent): Promise<boolean> {
  const info = await orMissing(stat(path));
  return info !== undefined && markOf(info) === mark;
}

/** A file that may be read; with an `obstacle`, one that is never submitted. */
interface Ready {
  readonly name: string;
  readonly obstacle?: string;
}

/**
 * Age in milliseconds at which a file with another ending is reported; before, it may still be
 * written.
 */
const STRANGER_MS = 10_000;
/**
 * Age in milliseconds at which a file is reported whose leading dot says that it is being written.
 */
const ABANDONED_MS = 3_600_000;
const STRANGERS_PER_ROUND = 20;

/** Pattern of hidden names that may be documents, and are no files of file managers. */
const UNFINISHED = /\.(?:nd)?json|\.(?:tmp|part)$/i;

/**
 * Returns why a file with this name and age is not submitted; undefined: it is, or may still be.
 */
export function leftAlone(name: string, ageMs: number): string | undefined {
  if (!name.startsWith('.')) {
    const isStrange = !DOCUMENT_NAME.test(name) && ageMs >= STRANGER_MS;
    return isStrange ? 'its name does not end in .json' : undefined;
  }
  const isAbandoned = UNFINISHED.test(name) && ageMs >= ABANDONED_MS;
  return isAbandoned ? 'its name begins with a dot, and for an hour nobody wrote it' : undefined;
}

/**
 * Lists files that are never submitted because of their names, once nobody writes them any more.
 */
async function strangers(
  { clock, folder }: FolderScan,
  found: readonly Dirent[],
  isSkipped: (name: string) => boolean,
): Promise<Ready[]> {
  const others = found.filter(
    (one) => one.isFile() && !isSkipped(one.name) && leftAlone(one.name, Infinity) !== undefined,
  );
  const ready: Ready[] = [];
  for (const { name } of others.slice(0, STRANGERS_PER_ROUND)) {
    const info = await orMissing(stat(join(folder, name)));
    const obstacle = info && leftAlone(name, Math.abs(clock.now() - info.mtimeMs));
    if (obstacle !== undefined) ready.push({ name, obstacle });
  }
  return ready;
}

/** Milliseconds since when nobody has written the file. */
export function restedMs(clock: Clock, checks: SizeChecks, name: string, info: Stats): number {
  const mark = markOf(info);
  const seen = checks.get(name);
  const since = seen?.mark === mark ? seen.since : clock.monotonic();
  checks.set(name, { mark, since });
  // A renamed file was last changed before our first check of it; a clock that is ahead says
  // nothing.
  return Math.max(clock.monotonic() - since, clock.now() - info.mtimeMs);
}

/** Lists files that nobody writes any more, in order of their names, without skipped ones. */
export async function readyFiles(
  scan: FolderScan,
  sizeChecks: SizeChecks,
  isSkipped: (name: string) => boolean,
): Promise<Ready[]> {
  const { clock, folder, settleMs } = scan;
  const found = await readdir(folder, { withFileTypes: true });
  const named = found
    .filter(({ name }) => isToBeTaken(name) && !isSkipped(name))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const present = new Set(named.map(({ name }) => name));
  for (const name of sizeChecks.keys()) if (!present.has(name)) sizeChecks.delete(name);
  const ready: Ready[] = [];
  for (const one of named.slice(0, FILES_PER_ROUND)) {
    const { name } = one;
    const obstacle = obstacleIn(one);
    if (obstacle !== undefined) {
      ready.push({ name, obstacle });
      continue;
    }
    const info = await orMissing(stat(join(folder, name)));
    if (!info) continue;
    if (restedMs(clock, sizeChecks, name, info) >= settleMs) ready.push({ name });
  }
  return [...ready, ...(await strangers(scan, found, isSkipped))];
}

/**
 * Reads a file, without its bytes if they are too many; undefined: the entry is no file any more.
 */
async function readBytes(path: string, bytesMax: number) {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const info = await file.stat();
    // A pipe has neither a size nor an end.
    if (!info.isFile()) return undefined;
    // No more than the mark says: somebody may write on meanwhile.
    const bytes = info.size > bytesMax ? undefined : (await file.readFile()).subarray(0, info.size);
    return { mark: markOf(info), size: info.size, bytes };
  } finally {
    await file.close();
  }
}

/** Reads the documents of a file; undefined when it is gone or no file any more. */
export async function readContent(
  { folder, fileBytesMax }: FolderScan,
  name: string,
): Promise<FileContent | undefined> {
  const found = await orMissing(readBytes(join(folder, name), fileBytesMax));
  if (found === undefined) return undefined;
  const { mark, size, bytes } = found;
  if (bytes === undefined) {
    const message = `is ${size} bytes large; ${fileBytesMax} are the most in one file`;
    return {
      mark,
      sha256: sha256(`too large: ${size}`),
      entries: [broken(1, [{ path: '', message }])],
      asOfSize: () => undefined,
    };
  }
  const read = (part: Buffer) => ({
    sha256: sha256(part),
    entries: readEntries(part.toString('utf8')),
  });
  return {
    mark,
    ...read(bytes),
    asOfSize: (then) => (then < bytes.length ? read(bytes.subarray(0, then)) : undefined),
  };
}

// Content: the documents of a file, each with its kind beside it.

export interface FileEntry {
  readonly line: number;
  readonly kind: string | null;
  readonly reference: string | undefined;
  /**
   * Document with its kind; undefined when the entry is no document, for the reasons in `problems`.
   */
  readonly envelope: Envelope | undefined;
  readonly problems: readonly Problem[];
}

/** Kind and reference by which people recognise an invalid document. */
const headSchema = z
  .object({
    kind: z.string().nullable().catch(null),
    reference: z.string().optional().catch(undefined),
  })
  .catch({ kind: null, reference: undefined });

function broken(line: number, problems: readonly Problem[], value?: unknown): FileEntry {
  const { kind, reference } = headSchema.parse(value);
  return { line, kind, reference, envelope: undefined, problems };
}

/** Lists every document with its first line, or one entry that says what is wrong. */
export function readEntries(text: string): FileEntry[] {
  return readDocuments(text).map(({ line, value, problems }) => {
    if (problems.length > 0) return broken(line, problems);
    const read = readEnvelope(value);
    if ('problems' in read) return broken(line, read.problems, value);
    const { kind, reference } = headSchema.parse(value);
    return { line, kind, reference, envelope: read.envelope, problems: [] };
  });
}

// Skipped files: each is tried again after a minute, and logged when it begins and once an hour
// while it lasts: a program that forgets the mode of its files drops thousands.

export interface SkippedFiles {
  has(name: string): boolean;
  add(name: string, why: string, fields?: object): void;
  taken(name: string): void;
  release(): void;
}

const AGAIN_MS = 60_000;
const REMIND_MS = 3_600_000;

export function createSkippedFiles(deps: {
  readonly clock: Clock;
  readonly log: Logger;
}): SkippedFiles {
  const { clock, log } = deps;
  const until = new Map<string, number>();
  const logged = new Map<string, { readonly why: string; readonly at: number }>();
  return {
    has: (name) => until.has(name),
    add(name, why, fields = {}) {
      const at = clock.monotonic();
      until.set(name, at + AGAIN_MS);
      if (logged.get(name)?.why === why) return;
      logged.set(name, { why, at });
      log.error({ file: name, ...fields }, why);
    },
    taken: (name) => logged.delete(name),
    release() {
      const now = clock.monotonic();
      for (const [name, end] of until) if (end <= now) until.delete(name);
      for (const [name, { at }] of logged) if (at + REMIND_MS <= now) logged.delete(name);
    },
  };
}
