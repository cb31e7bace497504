/**
 * The receipt beside a file of the drop folder: one JSON file with what became of each document.
 * It is written when the file is taken and again when its documents have moved on, always as a
 * whole and by renaming, so that nobody reads half of one.
 */
import { lstatSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, parse } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { RetryLaterError } from '../../../lib/errors.ts';
import { isJsonObject, tryParseJson } from '../../../lib/json.ts';
import type { Db } from '../../../store/store.ts';
import { isoTime, readReceipt } from '../receipt.ts';

export interface TakenFile {
  readonly fileId: number;
  readonly name: string;
  readonly sha256: string;
  readonly takenAt: number;
  readonly folder: 'done' | 'refused';
  readonly storedAs: string;
}

/** Documents read between two turns of the event loop. */
const SLICE = 50;
/** The ERP's group reads it. */
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
    const told: unknown =
      outbox_id === null ? tryParseJson(refusal ?? '') : await readReceipt(db, outbox_id);
    documents.push({ line, ...(isJsonObject(told) ? told : {}) });
  }
  return documents;
}

/** `orders.0123456789ab.json`: beside another file of its name. */
export function withDigest(name: string, sha256: string): string {
  const { name: stem, ext } = parse(name);
  return `${stem}.${sha256.slice(0, 12)}${ext}`;
}

/** `done` or `refused`; whoever may write the folder may have put a link to another one there. */
export function ownFolder(root: string, name: TakenFile['folder']): string {
  const path = join(root, name);
  if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) return path;
  const hint = 'remove what lies there (a link counts as such): the daemon makes the folder again';
  throw new RetryLaterError('intake.no_folder', `${path} is no folder`, { hint });
}

const FOLDER_CODES = ['EISDIR', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST', 'ERR_FS_EISDIR'];

/** Somebody has made a folder where a file of ours belongs. */
export function isFolderInTheWay(error: unknown): boolean {
  return isJsonObject(error) && FOLDER_CODES.includes(String(error.code));
}

/** Deletes a file and its receipt; a folder that lies there is not ours. */
export async function removeStored(root: string, { folder, storedAs }: TakenFile): Promise<void> {
  const path = join(ownFolder(root, folder), storedAs);
  for (const one of [path, `${path}.receipt.json`]) {
    await rm(one, { force: true }).catch((error: unknown) => {
      if (!isFolderInTheWay(error)) throw error;
    });
  }
}

/** As a new file: a link that lies there is removed, and not followed. */
async function writeAnew(path: string, text: string): Promise<void> {
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

/** Writes the receipt of a file into the folder that it lies in. */
export async function writeFileReceipt(db: Db, root: string, file: TakenFile): Promise<void> {
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
  await writeAnew(unfinished, `${JSON.stringify(receipt, null, 2)}\n`);
  await rename(unfinished, path);
}
