/**
 * The text of a file in the drop folder: one document as JSON over as many lines as it likes, or
 * NDJSON, one document a line. A document is `{"kind", "reference", "payload"}`, as in SQL; the
 * reference may stand in the payload instead.
 */
import { z } from 'zod';
import type { Problem } from '../documents.ts';
import type { Submission } from './submission.ts';
import { parsePayload } from './submission.ts';

export interface FileEntry {
  /** From 1; where the document begins. */
  readonly line: number;
  readonly kind: string | null;
  readonly reference: string | undefined;
  /** Undefined when it is no document at all, for these problems. */
  readonly submission: Submission | undefined;
  readonly problems: readonly Problem[];
}

const DOCUMENTS_MAX = 10_000;

const envelopeSchema = z.strictObject({
  kind: z.string().max(40),
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

function entryOf(line: number, value: unknown): FileEntry {
  const parsed = envelopeSchema.safeParse(value, {
    error: (issue) =>
      issue.code === 'invalid_type' && issue.input === undefined ? 'is missing' : undefined,
  });
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => {
      return { path: path.join('.'), message };
    });
    return broken(line, problems, value);
  }
  const { kind, reference, payload } = parsed.data;
  return { line, kind, reference, submission: { kind, reference, payload }, problems: [] };
}

/** Every document of the text with the line it begins in, or one entry that says what is wrong. */
export function readEntries(text: string): FileEntry[] {
  const whole = parsePayload(text);
  if ('payload' in whole) return [entryOf(1, whole.payload)];
  const lines = text
    .split('\n')
    .map((content, index) => ({ content: content.trim(), line: index + 1 }))
    .filter(({ content }) => content !== '' && content !== '\uFEFF');
  const [first] = lines;
  // A first line that is no JSON by itself: one broken document, not one a line.
  if (!first || lines.length === 1 || 'problems' in parsePayload(first.content)) {
    return [broken(first?.line ?? 1, whole.problems)];
  }
  if (lines.length > DOCUMENTS_MAX) {
    const message = `holds ${lines.length} documents; ${DOCUMENTS_MAX} are the most in one file`;
    return [broken(1, [{ path: '', message }])];
  }
  return lines.map(({ content, line }) => {
    const read = parsePayload(content);
    return 'payload' in read ? entryOf(line, read.payload) : broken(line, read.problems);
  });
}
