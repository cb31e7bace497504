/**
 * The text of a file in the drop folder. A document is `{"kind", "reference", "payload"}`, as in
 * SQL; the reference may stand in the payload instead.
 */
import { z } from 'zod';
import { type Problem, problemsOf, wording } from '../../documents.ts';
import { readDocuments } from '../documents-text.ts';
import type { Submission } from '../submission.ts';

export interface FileEntry {
  /** From 1; where the document begins. */
  readonly line: number;
  readonly kind: string | null;
  readonly reference: string | undefined;
  /** Undefined when it is no document at all, for these problems. */
  readonly submission: Submission | undefined;
  readonly problems: readonly Problem[];
}

const KIND_CHARS_MAX = 40;

const envelopeSchema = z.strictObject({
  kind: z.string().max(KIND_CHARS_MAX),
  reference: z.string().optional(),
  payload: z.unknown().refine((payload) => payload !== undefined, 'is missing'),
});

const headSchema = z.object({
  kind: z.string().nullable().catch(null),
  reference: z.string().optional().catch(undefined),
});

function broken(line: number, problems: readonly Problem[], value?: unknown): FileEntry {
  const head = headSchema.safeParse(value);
  const { kind, reference } = head.success ? head.data : { kind: null, reference: undefined };
  return { line, kind, reference, submission: undefined, problems };
}

/** A document with its kind beside it. */
export function readEnvelope(
  value: unknown,
): { readonly submission: Submission } | { readonly problems: readonly Problem[] } {
  const parsed = envelopeSchema.safeParse(value, { error: wording });
  if (!parsed.success) {
    return { problems: problemsOf(parsed.error, () => Object.keys(envelopeSchema.shape)) };
  }
  const { kind, reference, payload } = parsed.data;
  return { submission: { kind, reference, payload } };
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
