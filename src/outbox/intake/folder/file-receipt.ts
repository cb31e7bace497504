/**
 * The receipt beside a file of the drop folder: one JSON file with what became of each document.
 * It is written when the file is taken and again when its documents have moved on, always as a
 * whole and by renaming, so that nobody reads half of one.
 */
import { chmod, rename, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
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
  const path = `${join(root, file.folder, file.storedAs)}.receipt.json`;
  const unfinished = join(dirname(path), `.${basename(path)}.tmp`);
  await writeFile(unfinished, `${JSON.stringify(receipt, null, 2)}\n`, { flush: true });
  await chmod(unfinished, FILE_MODE);
  await rename(unfinished, path);
}
