/** The text of a file in the drop folder: documents with their kind beside them. */
import { z } from 'zod';
import type { Problem } from '../../documents.ts';
import { readDocuments } from '../documents-text.ts';
import { readEnvelope, type Submission } from '../submission.ts';

export interface FileEntry {
  /** From 1; where the document begins. */
  readonly line: number;
  readonly kind: string | null;
  readonly reference: string | undefined;
  /** Undefined when it is no document at all, for these problems. */
  readonly submission: Submission | undefined;
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
  return { line, kind, reference, submission: undefined, problems };
}

/** Every document of the text with the line it begins in, or one entry that says what is wrong. */
export function readEntries(text: string): FileEntry[] {
  return readDocuments(text).map(({ line, value, problems }) => {
    if (problems.length > 0) return broken(line, problems);
    const read = readEnvelope(value);
    if ('problems' in read) return broken(line, read.problems, value);
    const { kind, reference } = read.submission;
    return { line, kind, reference, submission: read.submission, problems: [] };
  });
}
