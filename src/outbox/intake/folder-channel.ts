/**
 * The drop folder: a program renames a file `*.json` into it; the daemon submits its documents and
 * moves the file to `done/` or `refused/`, with a receipt beside it.
 *
 *   orders.json ── read, submitted ──▶ done/orders.json + done/orders.json.receipt.json
 *               └─ any document refused ──▶ refused/… + receipt
 *
 * Every step may be repeated: after a stop, files are still in the folder, and submitting them
 * again gives the same answers. A new file of an old name takes its place, and the older one gets
 * its digest into its name. A file that goes on growing after all is looked at again
 * (folder-growth.ts). Reads and writes `intake_file` and `intake_file_document`. An unusable folder
 * ends the worker, which is started again.
 */

import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { isJsonObject } from '../../lib/json.ts';
import { inKeys } from '../../store/bulk.ts';
import { trustedNow } from '../../store/clock-guard.ts';
import { makeFolder, withMode } from '../../store/folders.ts';
import type { Store } from '../../store/store.ts';
import { referenceKey } from '../documents.ts';
import { createGrowth, type Growth } from './folder-growth.ts';
import {
  isFolderInTheWay,
  ownFolder,
  refreshReceipt,
  removeStored,
  takenFile,
  withDigest,
} from './folder-receipts.ts';
import {
  createSkippedFiles,
  type FileContent,
  type FolderChannelDeps,
  isAsRead,
  isMissing,
  isToBeTaken,
  orMissing,
  readContent,
  readyFiles,
  type SizeChecks,
  type SkippedFiles,
} from './folder-scan.ts';
import { documentsOf, noteFile, submitAll } from './folder-take.ts';

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

/** Makes the subfolders, writable for the drop folder's group. */
function makeFolders(root: string): void {
  withMode(0o770, (mode) => {
    for (const name of FOLDERS) makeFolder(join(root, name), mode);
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
  const results = await submitAll(deps, name, content.entries);
  await makeRoom(deps, name, content.sha256);
  const documents = documentsOf(content.entries, results, deps.clock.now());
  const file = await noteFile(deps, name, content, documents);
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

/** Skips a file that cannot be read or moved, so that the others are taken. */
function passOver(progress: Progress, name: string, error: unknown): void {
  const code = isJsonObject(error) ? error.code : undefined;
  if (code !== 'EACCES' && code !== 'EPERM') skip(progress, name, error);
  else progress.skipped.add(name, 'this user may not read or move the file', { err: error });
}

/**
 * Rewrites receipts of files whose documents have changed; the end of a document is shown at once.
 */
async function refreshReceipts(
  deps: FolderChannelDeps,
  progress: Progress,
  growth: Growth,
): Promise<void> {
  const { store, clock } = deps;
  const { written, skipped } = progress;
  const due = await store.db
    .selectFrom('intake_file')
    .selectAll()
    .where('receipt_due', '>', sql.lit(0))
    .limit(RECEIPTS_PER_ROUND)
    .execute();
  const now = clock.monotonic();
  for (const [fileId, at] of written) if (now - at >= RECEIPT_EVERY_MS) written.delete(fileId);
  for (const file of due.map(takenFile)) {
    if (skipped.has(file.name)) continue;
    if (written.has(file.fileId) && (await hasOpenDocuments(deps, file.fileId))) continue;
    try {
      // A receipt may be the last one, and somebody may still write the file.
      if (!(await growth.isAsRead(file))) continue;
      written.set(file.fileId, now);
      await refreshReceipt(deps, file);
    } catch (error) {
      passOver(progress, file.name, error);
    }
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
  const names = JSON.stringify(references.map(referenceKey));
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
              sql<boolean>`document.refusal is not null
                and case_key(document.refusal->>'$.reference') in (
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
      passOver(progress, name, error);
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
      const growth = createGrowth(deps);
      while (!signal.aborted) {
        await takeFiles(deps, progress, signal);
        await growth.look((name, error) => passOver(progress, name, error));
        await refreshReceipts(deps, progress, growth);
        if (clock.monotonic() >= progress.forgetAt) {
          await growth.endIncidents();
          const forgotten = await forgetOld(deps);
          if (forgotten < FORGET_PER_ROUND) progress.forgetAt = clock.monotonic() + FORGET_EVERY_MS;
        }
        await clock.sleep(SCAN_MS, signal).catch(() => undefined);
      }
    },
  };
}
