/** Submits the documents of a file of the drop folder, and notes what became of each. */
import type { Selectable } from 'kysely';
import type { Tx } from '../../store/store.ts';
import type { Tables } from '../../store/tables.ts';
import { type TakenFile, takenFile } from './folder-receipts.ts';
import type { FileContent, FileEntry, FolderChannelDeps } from './folder-scan.ts';
import { invalid, type Submission, type SubmitResult } from './intake.ts';
import { refusalReceipt } from './receipt.ts';

/** Submits the documents of a file; the answers are in their order. */
export async function submitAll(
  { intake, clock }: FolderChannelDeps,
  name: string,
  entries: readonly FileEntry[],
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

/** Row of `intake_file_document`, without its file. */
export type FileDocument = Omit<Selectable<Tables['intake_file_document']>, 'file_id'>;

/** Documents of a file as they are noted. */
export function documentsOf(
  entries: readonly FileEntry[],
  results: readonly SubmitResult[],
  now: number,
): FileDocument[] {
  return results.map((answer, index) => {
    const { line, kind } = entries[index] ?? { line: index + 1, kind: null };
    const outbox_id = answer.ok ? answer.documentId : null;
    const refusal = answer.ok ? null : JSON.stringify(refusalReceipt(kind, answer, now));
    return { line, outbox_id, refusal };
  });
}

/** Folder in which a file with these documents belongs. */
export function folderOf(documents: readonly FileDocument[]): TakenFile['folder'] {
  return documents.every((one) => one.outbox_id !== null) ? 'done' : 'refused';
}

export async function writeDocuments(
  tx: Tx,
  file_id: number,
  documents: readonly FileDocument[],
): Promise<void> {
  await tx.deleteFrom('intake_file_document').where('file_id', '=', file_id).execute();
  for (const document of documents) {
    await tx
      .insertInto('intake_file_document')
      .values({ file_id, ...document })
      .execute();
  }
}

/** Notes a file that was submitted. */
export async function noteFile(
  { store, clock }: FolderChannelDeps,
  name: string,
  { sha256, mark }: FileContent,
  documents: readonly FileDocument[],
): Promise<TakenFile> {
  const taken = { folder: folderOf(documents), taken_at: clock.now(), mark };
  return store.transaction(async (tx) => {
    const known = { ...taken, stored_as: name, receipt_due: 1 } as const;
    const row = await tx
      .insertInto('intake_file')
      .values({ name, sha256, ...known })
      .onConflict((same) => same.columns(['name', 'sha256']).doUpdateSet(known))
      .returningAll()
      .executeTakeFirstOrThrow();
    await writeDocuments(tx, row.file_id, documents);
    return takenFile(row);
  });
}
