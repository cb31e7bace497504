/**
 * Looks at files of the drop folder again after they were taken: a slow upload may pause for longer
 * than `intake.folder.settle`, and goes on in `done` or `refused`, because a program that writes
 * keeps the file under any name. Of a file that only grew, what came later is submitted, nothing a
 * second time. Of one that was changed otherwise nothing is taken, because its receipt says what
 * became of the documents that were; somebody is told.
 *
 * Looks before each receipt, at the newest files in each round, and at all others by turns. Writes
 * `intake_file`, `intake_file_document`, and the incidents `file_grew` and `file_changed`.
 */
import { lstat, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { endIncidentRows, updateIncident } from '../../store/incidents.ts';
import type { Db, Tx } from '../../store/store.ts';
import { ownFolder, removeStored, type TakenFile, takenFile } from './folder-receipts.ts';
import {
  type FileContent,
  type FileEntry,
  type FolderChannelDeps,
  markOf,
  orMissing,
  readContent,
  restedMs,
  type SizeChecks,
  sizeIn,
} from './folder-scan.ts';
import {
  documentsOf,
  type FileDocument,
  folderOf,
  submitAll,
  writeDocuments,
} from './folder-take.ts';

/** Milliseconds for which a file is among the newest, which are looked at in each round. */
const NEW_MS = 600_000;
const NEWEST_PER_ROUND = 50;
const OTHERS_PER_ROUND = 10;
const TOLD_MS = 86_400_000;
const GREW = { kind: 'file_grew', entity: 'file' } as const;
const CHANGED = { kind: 'file_changed', entity: 'file' } as const;

export interface Growth {
  /** Whether the file is still as it was read; takes what came later once that rests. */
  isAsRead(file: TakenFile): Promise<boolean>;
  /** Looks at some files; `onError` is told of one that cannot be read or moved. */
  look(onError: (name: string, error: unknown) => void): Promise<void>;
  /** Ends incidents that were told long enough. */
  endIncidents(): Promise<void>;
}

const OTHER = { done: 'refused', refused: 'done' } as const;

/** Finds the stored file; a stop may have left it in the other folder, from where it is brought. */
async function infoOf({ folder }: FolderChannelDeps, file: TakenFile) {
  const path = join(ownFolder(folder, file.folder), file.storedAs);
  const info = await orMissing(lstat(path));
  if (info) return info.isFile() ? info : undefined;
  const other = join(ownFolder(folder, OTHER[file.folder]), file.storedAs);
  if (!(await orMissing(rename(other, path).then(() => true)))) return undefined;
  return orMissing(lstat(path));
}

function key(entry: FileEntry): string {
  return JSON.stringify(entry);
}

async function setMark(db: Db | Tx, fileId: number, mark: string): Promise<void> {
  await db.updateTable('intake_file').set({ mark }).where('file_id', '=', fileId).execute();
}

/** Documents that the file has beside those that stand in it as before. */
interface Rest {
  readonly kept: readonly FileDocument[];
  readonly entries: readonly FileEntry[];
}

/**
 * Parts the documents of a file that grew into what was taken and what came later; undefined: what
 * was read before does not begin it any more. A document that was submitted stays in any case.
 */
function restOf(
  { mark, sha256 }: TakenFile,
  content: FileContent,
  known: readonly FileDocument[],
  isTooLarge: boolean,
): Rest | undefined {
  const before = mark === null ? undefined : content.asOfSize(sizeIn(mark));
  if (before?.sha256 !== sha256 && !isTooLarge) return undefined;
  const same = new Set(before?.entries.map(key));
  const byLine = new Map(content.entries.map((entry) => [entry.line, entry]));
  const kept = known.filter(({ line, outbox_id }) => {
    const entry = byLine.get(line);
    return outbox_id !== null || (entry !== undefined && same.has(key(entry)));
  });
  const lines = new Set(kept.map(({ line }) => line));
  let last = Math.max(0, ...lines, ...byLine.keys());
  const entries = content.entries.flatMap((entry) => {
    if (!lines.has(entry.line)) return [entry];
    if (same.has(key(entry))) return [];
    // Further text made a line unreadable of which the document was taken: both are told.
    last += 1;
    return [{ ...entry, line: last }];
  });
  return { kept, entries };
}

/** Tells that a file is another one than was taken: its documents and receipt stay as they are. */
async function noteChanged(
  { store, clock, log }: FolderChannelDeps,
  { fileId, name, storedAs }: TakenFile,
  { mark }: FileContent,
): Promise<void> {
  const fields = { file: name, storedAs };
  log.warn(fields, 'file was changed after it was taken; nothing of the change is taken');
  await store.transaction(async (tx) => {
    await updateIncident(tx, { ...CHANGED, key: name, detail: fields }, clock.now());
    await setMark(tx, fileId, mark);
  });
}

async function noteGrown(
  { store, clock }: FolderChannelDeps,
  file: TakenFile,
  { sha256, mark }: FileContent,
  documents: readonly FileDocument[],
): Promise<boolean> {
  const { fileId, name } = file;
  return store.transaction(async (tx) => {
    const whole = await tx
      .selectFrom('intake_file')
      .select('file_id')
      .where('name', '=', name)
      .where('sha256', '=', sha256)
      .where('file_id', '<>', fileId)
      .executeTakeFirst();
    if (whole) {
      // The whole file came once more in the meantime, and has its own receipt.
      await tx.deleteFrom('intake_file_document').where('file_id', '=', fileId).execute();
      await tx.deleteFrom('intake_file').where('file_id', '=', fileId).execute();
      return false;
    }
    const folder = folderOf(documents);
    await tx
      .updateTable('intake_file')
      .set((eb) => ({ receipt_due: eb('receipt_due', '+', 1) }))
      .set({ sha256, mark, folder, taken_at: clock.now() })
      .where('file_id', '=', fileId)
      .execute();
    await writeDocuments(tx, fileId, documents);
    return true;
  });
}

/** Submits what a file has more than when it was read, and tells of it. */
async function takeRest(
  deps: FolderChannelDeps,
  file: TakenFile,
  content: FileContent,
): Promise<void> {
  const { store, clock, log, folder } = deps;
  const known: readonly FileDocument[] = await store.db
    .selectFrom('intake_file_document')
    .select(['line', 'outbox_id', 'refusal'])
    .where('file_id', '=', file.fileId)
    .execute();
  const isTooLarge = sizeIn(content.mark) > deps.fileBytesMax;
  const rest = restOf(file, content, known, isTooLarge);
  if (!rest) return noteChanged(deps, file, content);
  const results = await submitAll(deps, file.name, rest.entries);
  const late = documentsOf(rest.entries, results, clock.now());
  const documents = [...rest.kept, ...late].toSorted((a, b) => a.line - b.line);
  const target = folderOf(documents);
  const from = join(ownFolder(folder, file.folder), file.storedAs);
  if (target !== file.folder) {
    await orMissing(rename(from, join(ownFolder(folder, target), file.storedAs)));
  }
  // A file that was not read has no digest of its own.
  const sha256 = isTooLarge ? file.sha256 : content.sha256;
  const isNoted = await noteGrown(deps, file, { ...content, sha256 }, documents);
  if (!isNoted) await removeStored(folder, { ...file, folder: target });
  else if (target !== file.folder) await rm(`${from}.receipt.json`, { force: true });
  // Somebody has only added blanks or an end of the line.
  if (late.length === 0) return;
  const refused = late.filter(({ outbox_id }) => outbox_id === null).length;
  const fields = { file: file.name, documents: late.length, refused };
  log.warn(fields, 'file grew after it was taken for whole; what came later is taken, too');
  await updateIncident(store.db, { ...GREW, key: file.name, detail: fields }, clock.now());
}

export function createGrowth(deps: FolderChannelDeps): Growth {
  const { store, clock, folder, settleMs, fileBytesMax } = deps;
  const checks: SizeChecks = new Map();
  let after = 0;

  const isAsRead = async (file: TakenFile): Promise<boolean> => {
    const info = await infoOf(deps, file);
    const name = String(file.fileId);
    if (!info || markOf(info) === file.mark) {
      checks.delete(name);
      return true;
    }
    // Nobody knows what a file was that an earlier version took.
    if (file.mark === null) {
      await setMark(store.db, file.fileId, markOf(info));
      return true;
    }
    if (restedMs(clock, checks, name, info) < settleMs) return false;
    const place = { ...deps, folder: ownFolder(folder, file.folder), fileBytesMax };
    const content = await readContent(place, file.storedAs);
    checks.delete(name);
    if (!content) return true;
    if (content.sha256 !== file.sha256) {
      await takeRest(deps, file, content);
      return false;
    }
    await setMark(store.db, file.fileId, content.mark);
    return true;
  };

  return {
    isAsRead,
    async look(onError) {
      const files = store.db.selectFrom('intake_file').selectAll();
      const newest = await files.orderBy('file_id', 'desc').limit(NEWEST_PER_ROUND).execute();
      const others = await files
        .where('file_id', '>', after)
        .orderBy('file_id')
        .limit(OTHERS_PER_ROUND)
        .execute();
      after = others.length < OTHERS_PER_ROUND ? 0 : (others.at(-1)?.file_id ?? 0);
      const fresh = newest.filter(
        ({ file_id, taken_at }) => clock.now() - taken_at < NEW_MS || checks.has(String(file_id)),
      );
      const all = new Map([...fresh, ...others].map((row) => [row.file_id, row]));
      for (const file of [...all.values()].map(takenFile)) {
        await isAsRead(file).catch((error) => onError(file.name, error));
      }
    },
    async endIncidents() {
      const told = await store.db
        .selectFrom('incident')
        .select('id')
        .where('kind', 'in', [GREW.kind, CHANGED.kind])
        .where('at', '<', clock.now() - TOLD_MS)
        .where('resolved_at', 'is', null)
        .execute();
      await endIncidentRows(store.db, told, clock.now());
    },
  };
}
