/**
 * The drop folder: a program renames a file `*.json` into it; the daemon submits its documents and
 * moves the file to `done/` or `refused/`, with a receipt beside it.
 *
 *   orders.json ── read, submitted ──▶ done/orders.json + done/orders.json.receipt.json
 *               └─ any document refused ──▶ refused/… + receipt
 *
 * Every step may be repeated: after a stop, files are still in the folder, and submitting them
 * again gives the same answers. A new file of an old name takes its place, and the older one gets
 * its digest into its name. Reads and writes `intake_file` and `intake_file_document`. An unusable
 * folder ends the worker, which is started again.
 */

import { lstatSync } from 'node:fs';
import { open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, parse } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Selectable, sql } from 'kysely';
import { RetryLaterError } from '../../lib/errors.ts';
import { isJsonObject, tryParseJson } from '../../lib/json.ts';
import type { Logger } from '../../lib/log.ts';
import { inKeys } from '../../store/bulk.ts';
import { trustedNow } from '../../store/clock-guard.ts';
import { makeFolder, withMode } from '../../store/folders.ts';
import type { Db, Store } from '../../store/store.ts';
import type { Tables } from '../../store/tables.ts';
import {
  createSkippedFiles,
  type FileContent,
  type FolderScan,
  isAsRead,
  isMissing,
  isToBeTaken,
  orMissing,
  readContent,
  readyFiles,
  type SizeChecks,
  type SkippedFiles,
} from './folder-scan.ts';
import { type Intake, invalid, type Submission, type SubmitResult } from './intake.ts';
import { isoTime, readReceipt, refusalReceipt } from './receipt.ts';

export interface FolderChannelDeps extends FolderScan {
  readonly store: Store;
  readonly intake: Intake;
  readonly log: Logger;
  /** Milliseconds for which files stay in `done` and `refused`. */
  readonly keepMs: number;
}

const SCAN_MS = 500;
const RECEIPTS_PER_ROUND = 200;
/** Minimum milliseconds between two receipts of a file whose documents change their state. */
const RECEIPT_EVERY_MS = 5_000;
const FORGET_EVERY_MS = 3_600_000;
const FORGET_PER_ROUND = 200;
const FOLDERS = ['done', 'refused'] as const;

interface Progress {
  readonly sizeChecks: SizeChecks;
  /** Time of each file's last receipt by the monotonic clock, by file id. */
  readonly written: Map<number, number>;
  readonly skipped: SkippedFiles;
  forgetAt: number;
}

function takenFile(row: Selectable<Tables['intake_file']>): TakenFile & { readonly due: number } {
  const { name, sha256, folder, receipt_due: due } = row;
  const { file_id: fileId, taken_at: takenAt, stored_as: storedAs } = row;
  return { fileId, name, sha256, folder, takenAt, storedAs, due };
}

/** Makes the subfolders, writable for the drop folder's group. */
function makeFolders(root: string): void {
  withMode(0o770, (mode) => {
    for (const name of FOLDERS) makeFolder(join(root, name), mode);
  });
}

async function submitAll(
  { intake, clock }: FolderChannelDeps,
  name: string,
  { entries }: FileContent,
): Promise<readonly SubmitResult[]> {
  const receivedAt = clock.now();
  const sound = entries.flatMap(({ envelope, line }): Submission[] =>
    envelope === undefined
      ? []
      : [{ ...envelope, channel: 'folder', source: `${name}:${line}`, receivedAt }],
  );
  const results = [...(await intake.submit(sound))];
  return entries.map((entry) => {
    const answer = entry.envelope === undefined ? undefined : results.shift();
    return answer ?? invalid(entry.reference, entry.problems);
  });
}

async function noteFile(
  { store, clock }: FolderChannelDeps,
  name: string,
  content: FileContent,
  results: readonly SubmitResult[],
): Promise<ReturnType<typeof takenFile>> {
  const now = clock.now();
  const folder = results.every(({ ok }) => ok) ? 'done' : 'refused';
  const documents = results.map((answer, index) => {
    const { line, kind } = content.entries[index] ?? { line: index + 1, kind: null };
    const outbox_id = answer.ok ? answer.documentId : null;
    const refusal = answer.ok ? null : JSON.stringify(refusalReceipt(kind, answer, now));
    return { line, outbox_id, refusal };
  });
  return store.transaction(async (tx) => {
    const known = { folder, stored_as: name, taken_at: now, receipt_due: 1 } as const;
    const row = await tx
      .insertInto('intake_file')
      .values({ name, sha256: content.sha256, ...known })
      .onConflict((taken) => taken.columns(['name', 'sha256']).doUpdateSet(known))
      .returningAll()
      .executeTakeFirstOrThrow();
    const { file_id } = row;
    await tx.deleteFrom('intake_file_document').where('file_id', '=', file_id).execute();
    for (const document of documents) {
      await tx
        .insertInto('intake_file_document')
        .values({ file_id, ...document })
        .execute();
    }
    return takenFile(row);
  });
}

/** Moves an older file with this name in `done` or `refused` aside. */
async function makeRoom({ store, folder }: FolderChannelDeps, name: string, sha256: string) {
  const rows = await store.db
    .selectFrom('intake_file')
    .selectAll()
    .where('name', '=', name)
    .where((eb) => eb.or([eb('stored_as', '=', name), eb('sha256', '=', sha256)]))
    .execute();
  for (const older of rows.map(takenFile)) {
    if (older.sha256 === sha256) {
      await removeStored(folder, older);
      continue;
    }
    const aside = withDigest(name, older.sha256);
    const home = ownFolder(folder, older.folder);
    const [from, to] = [join(home, name), join(home, aside)];
    // The receipt is moved before its file, so that a reader of the file finds it.
    await orMissing(rename(`${from}.receipt.json`, `${to}.receipt.json`));
    await orMissing(rename(from, to));
    await store.db
      .updateTable('intake_file')
      .set({ stored_as: aside })
      .where('file_id', '=', older.fileId)
      .execute();
  }
}

/**
 * Writes the receipt of a file; if one of its documents changes meanwhile, the receipt stays due.
 */
async function refreshReceipt(
  { store, folder }: FolderChannelDeps,
  file: ReturnType<typeof takenFile>,
): Promise<void> {
  await writeFileReceipt(store.db, folder, file);
  await store.db
    .updateTable('intake_file')
    .set({ receipt_due: 0 })
    .where('file_id', '=', file.fileId)
    .where('receipt_due', '=', file.due)
    .execute();
}

/**
 * Ending of a file's name while it is moved to `done` or `refused`. After a stop, such a file may
 * be another one, which came between read and move and was read by nobody.
 */
const UNDER_WAY = '.under-way';

function asideOf(name: string): string {
  return `.${name}${UNDER_WAY}`;
}

/**
 * Moves a file back under its name. If a newer file has the name, an already submitted file is
 * moved to its final folder, and an unread one is submitted beside the newer one.
 */
async function putBack(deps: FolderChannelDeps, name: string): Promise<void> {
  const { folder, store } = deps;
  const aside = join(folder, asideOf(name));
  if (await isMissing(join(folder, name))) {
    await orMissing(rename(aside, join(folder, name)));
    return;
  }
  const content = await readContent(deps, asideOf(name));
  if (!content) return;
  const taken = await store.db
    .selectFrom('intake_file')
    .selectAll()
    .where('name', '=', name)
    .where('sha256', '=', content.sha256)
    .executeTakeFirst();
  // The file was not read: its content must be submitted, because the newer file may be another
  // one.
  if (!taken) return rename(aside, join(folder, withDigest(name, content.sha256)));
  const file = takenFile(taken);
  await rename(aside, join(ownFolder(folder, file.folder), file.storedAs));
}

/**
 * Moves back all files that a stop left between two names; submitting them again changes nothing.
 */
async function putAllBack(deps: FolderChannelDeps): Promise<void> {
  const found = await readdir(deps.folder, { withFileTypes: true });
  for (const one of found) {
    if (!one.isFile() || !one.name.startsWith('.')) continue;
    const name = one.name.slice(1, -UNDER_WAY.length);
    if (one.name.endsWith(UNDER_WAY) && isToBeTaken(name)) await putBack(deps, name);
  }
}

/**
 * Moves a submitted file to its folder; another file that took its name meanwhile stays for the
 * next round.
 */
async function moveAway(
  deps: FolderChannelDeps,
  name: string,
  target: string,
  content: FileContent,
): Promise<void> {
  const path = join(deps.folder, name);
  const aside = join(deps.folder, asideOf(name));
  if (!(await isAsRead(path, content))) return;
  const moved = await orMissing(rename(path, aside).then(() => true));
  if (!moved) return;
  if (!(await isAsRead(aside, content))) return putBack(deps, name);
  try {
    await rename(aside, target);
  } catch (error) {
    await putBack(deps, name);
    throw error;
  }
}

async function takeFile(deps: FolderChannelDeps, name: string): Promise<void> {
  const { folder, log } = deps;
  const content = await readContent(deps, name);
  if (!content) return;
  const results = await submitAll(deps, name, content);
  await makeRoom(deps, name, content.sha256);
  const file = await noteFile(deps, name, content, results);
  await refreshReceipt(deps, file);
  await moveAway(deps, name, join(ownFolder(folder, file.folder), name), content);
  const refused = results.filter(({ ok }) => !ok).length;
  const fields = { file: name, documents: results.length, refused };
  if (refused > 0) log.warn(fields, 'file refused, at least in part');
  else log.info(fields, 'file taken');
}

async function hasOpenDocuments({ store }: FolderChannelDeps, fileId: number): Promise<boolean> {
  const open = await store.db
    .selectFrom('intake_file_document')
    .innerJoin('outbox', 'outbox.outbox_id', 'intake_file_document.outbox_id')
    .select('line')
    .where('file_id', '=', fileId)
    .where('ended_at', 'is', null)
    .limit(1)
    .executeTakeFirst();
  return open !== undefined;
}

/** Skips a file if a folder has its final name; any other error ends the worker. */
function skip({ skipped }: Progress, name: string, error: unknown): void {
  if (!isFolderInTheWay(error)) throw error;
  skipped.add(name, 'a folder lies where the file or its receipt belongs', { err: error });
}

/**
 * Rewrites receipts of files whose documents have changed; the end of a document is shown at once.
 */
async function refreshReceipts(deps: FolderChannelDeps, progress: Progress): Promise<void> {
  const { store, clock } = deps;
  const { written, skipped } = progress;
  const due = await store.db
    .selectFrom('intake_file')
    .selectAll()
    .where('receipt_due', '>', 0)
    .limit(RECEIPTS_PER_ROUND)
    .execute();
  const now = clock.monotonic();
  for (const [fileId, at] of written) if (now - at >= RECEIPT_EVERY_MS) written.delete(fileId);
  for (const file of due.map(takenFile)) {
    if (skipped.has(file.name)) continue;
    if (written.has(file.fileId) && (await hasOpenDocuments(deps, file.fileId))) continue;
    written.set(file.fileId, now);
    await refreshReceipt(deps, file).catch((error) => skip(progress, file.name, error));
  }
}

/**
 * Deletes old files whose documents have all ended; the documents stay in the outbox. Returns how
 * many files.
 */
async function forgetOld(deps: FolderChannelDeps): Promise<number> {
  const { store, folder, keepMs } = deps;
  const before = (await trustedNow(deps)) - keepMs;
  const old = await store.db
    .selectFrom('intake_file')
    .selectAll()
    .where('taken_at', '<', before)
    .where(({ selectFrom, not, exists }) => {
      const late = selectFrom('intake_file_document as document')
        .innerJoin('outbox', 'outbox.outbox_id', 'document.outbox_id')
        .select('document.line')
        .whereRef('document.file_id', '=', 'intake_file.file_id')
        .where(({ eb, or }) => or([eb('ended_at', 'is', null), eb('ended_at', '>=', before)]));
      return not(exists(late));
    })
    .limit(FORGET_PER_ROUND)
    .execute();
  for (const file of old.map(takenFile)) {
    await removeStored(folder, file);
    await store.transaction(async (tx) => {
      const { fileId } = file;
      await tx.deleteFrom('intake_file_document').where('file_id', '=', fileId).execute();
      await tx.deleteFrom('intake_file').where('file_id', '=', fileId).execute();
    });
  }
  return old.length;
}

/**
 * Deletes submitted files that contained these documents, whatever else they contained: all their
 * documents are in the outbox. Receipts are written again. Returns how many files were deleted.
 */
export async function forgetFiles(
  store: Store,
  folder: string,
  outboxIds: readonly number[],
  references: readonly string[],
): Promise<number> {
  const names = JSON.stringify(references);
  const rows = await store.db
    .selectFrom('intake_file as file')
    .selectAll('file')
    .where(({ selectFrom, exists, or }) =>
      exists(
        selectFrom('intake_file_document as document')
          .select('document.line')
          .whereRef('document.file_id', '=', 'file.file_id')
          .where(
            or([
              inKeys('document.outbox_id', outboxIds),
              sql<boolean>`document.refusal->>'$.reference' in (
                select value from json_each(${names}))`,
            ]),
          ),
      ),
    )
    .execute();
  for (const file of rows.map(takenFile)) {
    await removeStored(folder, file);
    await store.db
      .updateTable('intake_file')
      .set((eb) => ({ receipt_due: eb('receipt_due', '+', 1) }))
      .where('file_id', '=', file.fileId)
      .execute();
  }
  return rows.length;
}

/** Submits every ready file; one that cannot be taken does not keep the others waiting. */
async function takeFiles(
  deps: FolderChannelDeps,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const { sizeChecks, skipped } = progress;
  skipped.release();
  const ready = await readyFiles(deps, sizeChecks, (name) => skipped.has(name));
  for (const { name, obstacle } of ready) {
    if (signal.aborted) return;
    if (obstacle !== undefined) {
      skipped.add(name, `file skipped: ${obstacle}`);
      continue;
    }
    try {
      await takeFile(deps, name);
      skipped.taken(name);
    } catch (error) {
      const code = isJsonObject(error) ? error.code : undefined;
      if (code !== 'EACCES' && code !== 'EPERM') skip(progress, name, error);
      else skipped.add(name, 'this user may not read or move the file', { err: error });
    }
  }
}

/** Creates the worker that serves the folder until the signal aborts. */
export function createFolderChannel(deps: FolderChannelDeps) {
  const { clock, folder } = deps;
  return {
    name: 'folder',
    async run(signal: AbortSignal): Promise<void> {
      makeFolders(folder);
      await putAllBack(deps);
      const progress: Progress = {
        sizeChecks: new Map(),
        written: new Map(),
        skipped: createSkippedFiles(deps),
        forgetAt: 0,
      };
      while (!signal.aborted) {
        await takeFiles(deps, progress, signal);
        await refreshReceipts(deps, progress);
        if (clock.monotonic() >= progress.forgetAt) {
          const forgotten = await forgetOld(deps);
          if (forgotten < FORGET_PER_ROUND) progress.forgetAt = clock.monotonic() + FORGET_EVERY_MS;
        }
        await clock.sleep(SCAN_MS, signal).catch(() => undefined);
      }
    },
  };
}

// Receipts: one JSON file beside each submitted file. It is written when the file is submitted and
// again when its documents change, always as a whole and by renaming, so that nobody reads half of
// one.

interface TakenFile {
  readonly fileId: number;
  readonly name: string;
  readonly sha256: string;
  readonly takenAt: number;
  readonly folder: 'done' | 'refused';
  readonly storedAs: string;
}

const SLICE = 50;
/** File mode of receipts: the ERP's group may read them. */
const FILE_MODE = 0o640;

async function documentsOf(db: Db, fileId: number): Promise<Record<string, unknown>[]> {
  const rows = await db
    .selectFrom('intake_file_document')
    .select(['line', 'outbox_id', 'refusal'])
    .where('file_id', '=', fileId)
    .orderBy('line')
    .execute();
  const documents: Record<string, unknown>[] = [];
  for (const [index, { line, outbox_id, refusal }] of rows.entries()) {
    if (index % SLICE === SLICE - 1) await nextTurn();
    const receipt: unknown =
      outbox_id === null ? tryParseJson(refusal ?? '') : await readReceipt(db, outbox_id);
    documents.push({ line, ...(isJsonObject(receipt) ? receipt : {}) });
  }
  return documents;
}

/** Returns a name that is free beside a file with this name: `orders.0123456789ab.json`. */
function withDigest(name: string, sha256: string): string {
  const { name: stem, ext } = parse(name);
  return `${stem}.${sha256.slice(0, 12)}${ext}`;
}

/**
 * Returns the path of `done` or `refused`; refuses a link in its place, which anybody who may write
 * the folder can make.
 */
function ownFolder(root: string, name: TakenFile['folder']): string {
  const path = join(root, name);
  if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) return path;
  const hint = 'remove what lies there (a link counts as such): the daemon makes the folder again';
  throw new RetryLaterError('intake.no_folder', `${path} is no folder`, { hint });
}

const FOLDER_CODES = ['EISDIR', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST', 'ERR_FS_EISDIR'];

/** Whether the error says that somebody has made a folder in the place of a file of ours. */
function isFolderInTheWay(error: unknown): boolean {
  return isJsonObject(error) && FOLDER_CODES.includes(String(error.code));
}

/** Deletes a submitted file and its receipt, but no folder with that name. */
async function removeStored(root: string, { folder, storedAs }: TakenFile): Promise<void> {
  const path = join(ownFolder(root, folder), storedAs);
  for (const one of [path, `${path}.receipt.json`]) {
    await rm(one, { force: true }).catch((error: unknown) => {
      if (!isFolderInTheWay(error)) throw error;
    });
  }
}

/** Writes a new file; a link with that name is removed, and not followed. */
async function writeNew(path: string, text: string): Promise<void> {
  await rm(path, { force: true });
  const file = await open(path, 'wx');
  try {
    await file.writeFile(text);
    await file.chmod(FILE_MODE);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function writeFileReceipt(db: Db, root: string, file: TakenFile): Promise<void> {
  const documents = await documentsOf(db, file.fileId);
  const isFinal = documents.every(({ final }) => final === true);
  const receipt = {
    file: file.name,
    sha256: file.sha256,
    takenAt: isoTime(file.takenAt),
    final: isFinal,
    documents,
  };
  const path = `${join(ownFolder(root, file.folder), file.storedAs)}.receipt.json`;
  const unfinished = join(dirname(path), `.${basename(path)}.tmp`);
  await writeNew(unfinished, `${JSON.stringify(receipt, null, 2)}\n`);
  await rename(unfinished, path);
}
