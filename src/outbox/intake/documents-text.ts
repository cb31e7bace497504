/**
 * Text with documents in it: one as JSON over as many lines as it likes, or NDJSON, one a line.
 * Every document comes with the line it begins in; what is no JSON comes with the reason.
 */
import type { Problem } from '../documents.ts';
import { DOCUMENT_BYTES_MAX, parsePayload } from './submission.ts';

export interface TextDocument {
  /** From 1. */
  readonly line: number;
  /** Parsed JSON; undefined when it is none, for these problems. */
  readonly value?: unknown;
  readonly problems: readonly Problem[];
}

const DOCUMENTS_MAX = 10_000;

function documentOf(line: number, text: string): TextDocument {
  const read = parsePayload(text);
  if ('problems' in read) return { line, problems: read.problems };
  const bytes = Buffer.byteLength(text.trim());
  if (bytes > DOCUMENT_BYTES_MAX) {
    const message = `is ${bytes} bytes large; ${DOCUMENT_BYTES_MAX} are the most in one document`;
    return { line, problems: [{ path: '', message }] };
  }
  return { line, value: read.payload, problems: [] };
}

export function readDocuments(text: string): TextDocument[] {
  const whole = documentOf(1, text);
  if (whole.problems.length === 0) return [whole];
  const lines = text
    .split('\n')
    .map((content, index) => ({ content: content.trim(), line: index + 1 }))
    .filter(({ content }) => content !== '');
  const [first, ...others] = lines;
  if (!first) return [{ line: 1, problems: [{ path: '', message: 'is empty' }] }];
  // One broken document over many lines has lines that are none by themselves; of the first one the
  // beginning may be cut off.
  const isOneEach =
    documentOf(first.line, first.content).problems.length === 0 ||
    others.every(({ content }) => content.startsWith('{'));
  if (lines.length === 1 || !isOneEach) return [{ ...whole, line: first.line }];
  if (lines.length > DOCUMENTS_MAX) {
    const message = `holds ${lines.length} documents; ${DOCUMENTS_MAX} are the most at once`;
    return [{ line: 1, problems: [{ path: '', message }] }];
  }
  return lines.map(({ content, line }) => documentOf(line, content));
}
