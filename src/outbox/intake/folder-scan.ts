/**
 * Looking into the drop folder: which files are ready, and what is in one. Names that begin with a
 * dot or do not end in `.json`, in whatever letters, are left alone, so is a file that still grows.
 * Links are not followed: who may write the folder must not read other files through us.
 */
import { constants, type Dirent, type Stats } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../lib/clock.ts';
import { isJsonObject, sha256 } from '../../lib/json.ts';
import type { Logger } from '../../lib/log.ts';
import type { Problem } from '../documents.ts';
import { readDocuments, readEnvelope, type Envelope } from './envelope.ts';

export interface FolderScan {
  readonly folder: string;
  readonly clock: Clock;
  /** How long a file must have been left alone before it is read, in milliseconds. */
  readonly settleMs: number;
  readonly fileBytesMax: number;
}

/** What was seen of each file, and since when (monotonic) it is so. */
export type SizeChecks = Map<string, { readonly mark: string; readonly since: number }>;

export interface FileContent {
  /** Of the file that was read: another one may have its name by now. */
  readonly mark: string;
  readonly sha256: string;
  readonly entries: readonly FileEntry[];
}

const FILES_PER_ROUND = 100;
/** Of a file system, and what names of receipts and of older files have more. */
const NAME_BYTES_MAX = 255 - '.'.length - '.0123456789ab'.length - '.receipt.json.tmp'.length;

/** Some systems write names in capitals, and some programs a space behind them. */
const DOCUMENT_NAME = /\.json\s*$/i;
const RECEIPT_NAME = /\.receipt\.json\s*$/i;

/** Whether a file of this name is to be taken; what begins with a dot is still being written. */
export function isToBeTaken(name: string): boolean {
  return DOCUMENT_NAME.test(name) && !name.startsWith('.');
}

/** Why this is never taken; undefined: it may be. */
function obstacleIn(found: Dirent): string | undefined {
  const { name } = found;
  if (found.isDirectory()) return 'it is a folder';
  if (!found.isFile()) return 'it is no file (a link counts as such)';
  const bytes = Buffer.byteLength(name);
  if (bytes > NAME_BYTES_MAX) {
    return `its name has ${bytes} bytes; ${NAME_BYTES_MAX} are the most`;
  }
  if (RECEIPT_NAME.test(name)) return 'it is named like a receipt';
  // What is no UTF-8 cannot be named again, not even to open it.
  return name.includes('\uFFFD') ? 'its name is not UTF-8' : undefined;
}

/** Undefined when the file has gone. */
export async function orMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isJsonObject(error) && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function markOf({ ino, size, mtimeMs }: Stats): string {
  return `${ino}/${size}/${mtimeMs}`;
}

export async function isMissing(path: string): Promise<boolean> {
  return (await orMissing(stat(path))) === undefined;
}

/** Whether the file of this name is the one that was read, as it was then. */
export async function isAsRead(path: string, { mark }: FileContent): Promise<boolean> {
  const info = await orMissing(stat(path));
  return info !== undefined && markOf(info) === mark;
}

/** What may be read; or, with an obstacle, what is never taken and need not even be found. */
interface Ready {
  readonly name: string;
  readonly obstacle?: string;
}

/** What is renamed in time is only being written under another name. */
export const STRANGER_MS = 10_000;
const STRANGERS_PER_ROUND = 20;

/** Files that will never be taken because of their names, once nobody writes them any more. */
async function strangers(
  { clock, folder }: FolderScan,
  found: readonly Dirent[],
  isSkipped: (name: string) => boolean,
): Promise<Ready[]> {
  const others = found.filter(
    (one) =>
      one.isFile() &&
      !DOCUMENT_NAME.test(one.name) &&
      !one.name.startsWith('.') &&
      !isSkipped(one.name),
  );
  const ready: Ready[] = [];
  for (const { name } of others.slice(0, STRANGERS_PER_ROUND)) {
    const info = await orMissing(stat(join(folder, name)));
    const isWritten = info && Math.abs(clock.now() - info.mtimeMs) < STRANGER_MS;
    if (info && !isWritten) ready.push({ name, obstacle: 'its name does not end in .json' });
  }
  return ready;
}

/** Files that nobody writes any more, in order, but those that are left alone. */
export async function readyFiles(
  look: FolderScan,
  sizeChecks: SizeChecks,
  isSkipped: (name: string) => boolean,
): Promise<Ready[]> {
  const { clock, folder, settleMs } = look;
  const found = await readdir(folder, { withFileTypes: true });
  const looked = found
    .filter(({ name }) => isToBeTaken(name) && !isSkipped(name))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const present = new Set(looked.map(({ name }) => name));
  for (const name of sizeChecks.keys()) if (!present.has(name)) sizeChecks.delete(name);
  const ready: Ready[] = [];
  for (const one of looked.slice(0, FILES_PER_ROUND)) {
    const { name } = one;
    const obstacle = obstacleIn(one);
    if (obstacle !== undefined) {
      ready.push({ name, obstacle });
      continue;
    }
    const info = await orMissing(stat(join(folder, name)));
    if (!info) continue;
    const mark = markOf(info);
    const seen = sizeChecks.get(name);
    const since = seen?.mark === mark ? seen.since : clock.monotonic();
    sizeChecks.set(name, { mark, since });
    // A renamed file is older than our first sight of it; a clock that is ahead says nothing.
    const restedMs = Math.max(clock.monotonic() - since, clock.now() - info.mtimeMs);
    if (restedMs >= settleMs) ready.push({ name });
  }
  return [...ready, ...(await strangers(look, found, isSkipped))];
}

/** Its bytes, or none when they are more than there may be; undefined: it is a file no more. */
async function readBytes(path: string, bytesMax: number) {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const info = await file.stat();
    // A pipe has no size, and no end.
    if (!info.isFile()) return undefined;
    const bytes = info.size > bytesMax ? undefined : await file.readFile();
    return { mark: markOf(info), size: info.size, bytes };
  } finally {
    await file.close();
  }
}

/** What is in a file; undefined when it has gone, or is none any more. */
export async function readContent(
  { folder, fileBytesMax }: FolderScan,
  name: string,
): Promise<FileContent | undefined> {
  const read = await orMissing(readBytes(join(folder, name), fileBytesMax));
  if (read === undefined) return undefined;
  const { mark, size, bytes } = read;
  if (bytes === undefined) {
    const message = `is ${size} bytes large; ${fileBytesMax} are the most in one file`;
    return {
      mark,
      sha256: sha256(`too large: ${size}`),
      entries: [broken(1, [{ path: '', message }])],
    };
  }
  return { mark, sha256: sha256(bytes), entries: readEntries(bytes.toString('utf8')) };
}

// Content: the documents of a file, with their kind beside them.

export interface FileEntry {
  /** From 1; where the document begins. */
  readonly line: number;
  readonly kind: string | null;
  readonly reference: string | undefined;
  /** Undefined when it is no document at all, for these problems. */
  readonly envelope: Envelope | undefined;
  readonly problems: readonly Problem[];
}

/** By what people will know a document that is no good. */
const headSchema = z
  .object({
    kind: z.string().nullable().catch(null),
    reference: z.string().optional().catch(undefined),
  })
  .catch({ kind: null, reference: undefined });

export function broken(line: number, problems: readonly Problem[], value?: unknown): FileEntry {
  const { kind, reference } = headSchema.parse(value);
  return { line, kind, reference, envelope: undefined, problems };
}

/** Every document of the text with the line it begins in, or one entry that says what is wrong. */
export function readEntries(text: string): FileEntry[] {
  return readDocuments(text).map(({ line, value, problems }) => {
    if (problems.length > 0) return broken(line, problems);
    const read = readEnvelope(value);
    if ('problems' in read) return broken(line, read.problems, value);
    const { kind, reference } = read.envelope;
    return { line, kind, reference, envelope: read.envelope, problems: [] };
  });
}

// Skipped files: each is tried again after a minute, and logged when it begins and once an hour while
// it lasts: a program that forgets the mode of its files drops thousands.

export interface SkippedFiles {
  has(name: string): boolean;
  add(name: string, why: string, fields?: object): void;
  taken(name: string): void;
  /** Lets go of those whose time is over. */
  lookAgain(): void;
}

const AGAIN_MS = 60_000;
const REMIND_MS = 3_600_000;

export function createSkippedFiles(deps: {
  readonly clock: Clock;
  readonly log: Logger;
}): SkippedFiles {
  const { clock, log } = deps;
  /** Until when (monotonic). */
  const left = new Map<string, number>();
  /** What was told of it, and when. */
  const told = new Map<string, { readonly why: string; readonly at: number }>();
  return {
    has: (name) => left.has(name),
    add(name, why, fields = {}) {
      const at = clock.monotonic();
      left.set(name, at + AGAIN_MS);
      if (told.get(name)?.why === why) return;
      told.set(name, { why, at });
      log.error({ file: name, ...fields }, why);
    },
    taken: (name) => told.delete(name),
    lookAgain() {
      const now = clock.monotonic();
      for (const [name, until] of left) if (until <= now) left.delete(name);
      for (const [name, { at }] of told) if (at + REMIND_MS <= now) told.delete(name);
    },
  };
}
