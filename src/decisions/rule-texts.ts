/**
 * Texts of the rule sets in the journal. A set has the texts of all its files, and most sets differ
 * in one of them: a list that the ERP changed, or one rule. So a long text is stored once, by its
 * hash, and the sets name it.
 */
import { z } from 'zod';
import { sha256 } from '../lib/json.ts';
import type { RuleFile } from '../rules/text/yaml.ts';
import type { Db, Tx } from '../store/store.ts';

/** A text up to this length is stored in the set itself. */
const OWN_TEXT_CHARS_MAX = 2_000;

const STORED_FILES = z.array(
  z.union([
    z.object({ path: z.string(), text: z.string() }),
    z.object({ path: z.string(), text_hash: z.string() }),
  ]),
);

/** Names of the set's files, with the hash of each text that is stored by itself. */
export type StoredFiles = z.output<typeof STORED_FILES>;

/** Stores the texts of a rule set, so that every decision by it can be explained later. */
export async function storeTexts(
  tx: Tx,
  { hash, files }: { readonly hash: string; readonly files: readonly RuleFile[] },
  now: number,
): Promise<void> {
  const known = await tx
    .selectFrom('rule_set')
    .select('hash')
    .where('hash', '=', hash)
    .executeTakeFirst();
  if (known) return;
  const stored: StoredFiles = [];
  for (const { path, text } of files) {
    if (text.length <= OWN_TEXT_CHARS_MAX) {
      stored.push({ path, text });
      continue;
    }
    const text_hash = sha256(text);
    stored.push({ path, text_hash });
    await tx
      .insertInto('rule_text')
      .values({ hash: text_hash, text })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
  await tx
    .insertInto('rule_set')
    .values({ hash, first_used_at: now, files: JSON.stringify(stored) })
    .execute();
}

/** Reads which files a rule set has; undefined: the journal has no such set. */
export async function readStoredFiles(db: Db | Tx, hash: string): Promise<StoredFiles | undefined> {
  const row = await db
    .selectFrom('rule_set')
    .select('files')
    .where('hash', '=', hash)
    .executeTakeFirst();
  return row && STORED_FILES.parse(JSON.parse(row.files));
}

/** Reads the texts of these files. */
export async function readTexts(db: Db | Tx, files: StoredFiles): Promise<readonly RuleFile[]> {
  const read: RuleFile[] = [];
  for (const file of files) {
    if ('text' in file) {
      read.push(file);
      continue;
    }
    const { text } = await db
      .selectFrom('rule_text')
      .select('text')
      .where('hash', '=', file.text_hash)
      .executeTakeFirstOrThrow();
    read.push({ path: file.path, text });
  }
  return read;
}

/** Reads the files of a rule set; undefined: the journal has no such set. */
export async function readRuleSetFiles(
  db: Db | Tx,
  hash: string,
): Promise<readonly RuleFile[] | undefined> {
  const stored = await readStoredFiles(db, hash);
  return stored && readTexts(db, stored);
}
