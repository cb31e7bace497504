/**
 * Receipts of the drop folder: one JSON file beside each submitted file. It is written when the
 * file is submitted and again when its documents change, always as a whole and by renaming, so that
 * nobody reads half of one.
 */

import { lstatSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, parse } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Selectable } from 'kysely';
import { RetryLaterError } from '../../lib/errors.ts';
import { isJsonObject, tryParseJson } from '../../lib/json.ts';
import { isoTime } from '../../lib/units.ts';
import type { Db } from '../../store/store.ts';
import type { Tables } from '../../store/tables.ts';
import type { FolderChannelDeps } from './folder-scan.ts';
import { readReceipt } from './receipt.ts';

export interface TakenFile {
  readonly fileId: number;
  readonly name: string;
  readonly sha256: string;
  readonly takenAt: number;
  readonly folder: 'done' | 'refused';
  readonly storedAs: string;
  /** Mark of the file as it was read; null: an earlier version took it. */
  readonly mark: string | null;
  readonly due: number;
}

export function takenFile(row: Selectable<Tables['intake_file']>): TakenFile {
  const { name, sha256, folder, mark, receipt_due: due } = row;
  const { file_id: fileId, taken_at: takenAt, stored_as: storedAs } = row;
  return { fileId, name, sha256, folder, takenAt, storedAs, mark, due };
}

const SLICE = 50;
/** File mode of receipts: the ERP's group may read them. */
const FILE_MODE = 0o640;

async function receiptsOf(db: Db, fileId: number): Promise<Record<string, unknown>[]> {
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
export function withDigest(name: string, sha256: string): string {
  const { name: stem, ext } = parse(name);
  return `${stem}.${sha256.slice(0, 12)}${ext}`;
}

/**
 * Returns the path of `done` or `refused`; refuses a link in its place, which anybody who may write
 * the folder can make.
 */
export function ownFolder(root: string, name: TakenFile['folder']): string {
  const path = join(root, name);
  if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) return path;
  const hint = 'remove what lies there (a link counts as such): the daemon makes the folder again';
  throw new RetryLaterError('intake.no_folder', `${path} is no folder`, { hint });
}

const FOLDER_CODES = ['EISDIR', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST', 'ERR_FS_EISDIR'];

/** Whether the error says that somebody has made a folder in the place of a file of ours. */
export function isFolderInTheWay(error: unknown): boolean {
  return isJsonObject(error) && FOLDER_CODES.includes(String(error.code));
}

/** Deletes a submitted file and its receipt, but no folder with that name. */
export async function removeStored(root: string, { folder, storedAs }: TakenFile): Promise<void> {
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
  const documents = await receiptsOf(db, file.fileId);
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

/**
 * Writes the receipt of a file; if one of its documents changes meanwhile, the receipt stays due.
 */
export async function refreshReceipt(
  { store, folder }: FolderChannelDeps,
  file: TakenFile,
): Promise<void> {
  await writeFileReceipt(store.db, folder, file);
  await store.db
    .updateTable('intake_file')
    .set({ receipt_due: 0 })
    .where('file_id', '=', file.fileId)
    .where('receipt_due', '=', file.due)
    .execute();
}
