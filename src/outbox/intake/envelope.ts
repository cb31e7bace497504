/**
 * Checks a submission before the database is asked: kind, reference and payload become a document,
 * or a list of problems that names every place. The check is pure, and the same for all channels.
 */
import { z } from 'zod';
import { isJsonObject, type JsonObject, memberTwice } from '../../lib/json.ts';
import type { DocumentOnFile } from '../corrections.ts';
import {
  DOCUMENT_KINDS,
  type DocumentKind,
  isDocumentKind,
  type Problem,
  parseDocument,
  problemsOf,
  REFERENCE_CHARS_MAX,
  referenceKey,
  wording,
} from '../documents.ts';
import { meantKind, meantMember } from '../member-words.ts';

export interface Envelope {
  readonly kind: string;
  /** Reference given beside the payload; undefined when only the document can have it. */
  readonly reference: string | undefined;
  /** Document, or `{"kind", "reference", "payload"}` with the document in it. */
  readonly payload: unknown;
}

const KIND_CHARS_MAX = 40;

const wrapperSchema = z.strictObject({
  kind: z.string().optional(),
  reference: z.string().optional(),
  payload: z.unknown(),
});

const WRAPPER = Object.keys(wrapperSchema.shape);

const kindSchema = z.looseObject({ kind: z.string().max(KIND_CHARS_MAX) });

/** Reads a document that names its kind, inside or beside it. */
export function readEnvelope(
  value: unknown,
): { readonly envelope: Envelope } | { readonly problems: readonly Problem[] } {
  const parsed = kindSchema.safeParse(value, { error: wording, reportInput: true });
  if (!parsed.success) {
    const [problem, ...others] = problemsOf(parsed.error, () => '');
    const names = isJsonObject(value) && value.kind === undefined ? Object.keys(value) : [];
    const meant = names.find((name) => meantMember(name, ['kind']) !== '');
    if (!problem || meant === undefined) return { problems: [problem ?? [], others].flat() };
    const message = `${problem.message}; did you mean kind by ${meant}?`;
    return { problems: [{ ...problem, message }] };
  }
  return { envelope: { kind: parsed.data.kind, reference: undefined, payload: value } };
}

/** A document with the kind and reference that stand beside it. */
type Opened =
  | { readonly kind?: unknown; readonly reference?: string | undefined; readonly payload: unknown }
  | { readonly problems: readonly Problem[] };

/** Takes a document out of its wrapper, if it has one; every intake channel accepts both shapes. */
function open(payload: unknown): Opened {
  if (!isJsonObject(payload)) return { payload };
  if (!Object.hasOwn(payload, 'payload')) {
    const { kind, ...document } = payload;
    return { kind, payload: document };
  }
  const parsed = wrapperSchema.safeParse(payload, { error: wording, reportInput: true });
  if (parsed.success) return parsed.data;
  return { problems: problemsOf(parsed.error, (_, word) => meantMember(word, WRAPPER)) };
}

export type Checked =
  | {
      readonly ok: true;
      readonly kind: DocumentKind;
      readonly reference: string;
      readonly document: JsonObject;
    }
  | {
      readonly ok: false;
      readonly reference: string | undefined;
      readonly problems: readonly Problem[];
    };

export const DAMAGED = 'holds what is no character (U+FFFD): the text was not UTF-8';

/**
 * Whether a text was damaged on its way: decoding puts U+FFFD in the place of bytes that are no
 * UTF-8; half of a surrogate pair can only come from JSON.
 */
export function isDamaged(text: string): boolean {
  return text.includes('\uFFFD') || !text.isWellFormed();
}

/** Lists damaged texts: they must not reach the service as a name or an address. */
function damagedTexts(document: JsonObject): Problem[] {
  if (!/\uFFFD|\\ud[89a-f]/.test(JSON.stringify(document))) return [];
  const leaves = new Map<string, string>();
  leavesOf(document, '', leaves);
  return [...leaves].flatMap(([path, json]) =>
    isDamaged(String(JSON.parse(json))) ? [{ path, message: DAMAGED }] : [],
  );
}

/** Describes a contradiction between a value in the document and the same value beside it. */
function besides(said: unknown, expected: string | undefined): string {
  if (said === undefined || expected === undefined || said === expected) return '';
  return `says ${JSON.stringify(said)} in the document and ${expected} beside it`;
}

function problemOfReference(inside: string | undefined, beside: string | undefined): string {
  const reference = inside ?? beside?.trim() ?? '';
  if (reference === '') return 'is missing: it is what the document is known by, for ever';
  if (reference.length > REFERENCE_CHARS_MAX) {
    return `must not be longer than ${REFERENCE_CHARS_MAX} characters`;
  }
  if (/\p{Cc}/u.test(reference)) return 'must not hold control characters';
  if (isDamaged(reference)) return DAMAGED;
  if (inside === undefined || beside === undefined) return '';
  const same = referenceKey(inside) === referenceKey(beside);
  return same ? '' : `says ${inside} in the document and ${beside} beside it`;
}

/** Reference by which people recognise a document that is invalid. */
function writtenReference(payload: unknown): string | undefined {
  if (!isJsonObject(payload)) return undefined;
  const { reference } = payload;
  if (typeof reference === 'string') return reference.slice(0, REFERENCE_CHARS_MAX);
  return writtenReference(payload.payload);
}

/** Checks a submission completely, and reports every mistake. */
export function checkEnvelope({ kind, reference: beside, payload: given }: Envelope): Checked {
  const known = beside ?? writtenReference(given);
  const refuse = (problems: readonly Problem[]): Checked => {
    return { ok: false, reference: known, problems };
  };
  if (!isDocumentKind(kind)) {
    const hint = meantKind(kind, DOCUMENT_KINDS);
    const found = `; found ${JSON.stringify(kind)}`;
    const message = `must be one of ${DOCUMENT_KINDS.join(', ')}${found}${hint}`;
    return refuse([{ path: 'kind', message }]);
  }
  const opened = open(given);
  if ('problems' in opened) return refuse(opened.problems);
  const otherKind = besides(opened.kind, kind);
  if (otherKind !== '') return refuse([{ path: 'kind', message: otherKind }]);
  if (opened.reference !== undefined && beside !== undefined) {
    const message = problemOfReference(opened.reference, beside);
    if (message !== '') return refuse([{ path: 'reference', message }]);
  }
  const reference = opened.reference ?? beside;
  const parsed = parseDocument(kind, opened.payload);
  const own = parsed.ok ? parsed.reference : undefined;
  const problem = parsed.ok || reference !== undefined ? problemOfReference(own, reference) : '';
  const problems = [
    ...(problem === '' ? [] : [{ path: 'reference', message: problem }]),
    ...(parsed.ok ? damagedTexts(parsed.document) : parsed.problems),
  ];
  if (!parsed.ok || problems.length > 0) {
    return { ok: false, reference: own ?? known, problems };
  }
  return { ok: true, kind, reference: own ?? reference ?? '', document: parsed.document };
}

const WRITTEN_TWICE = 'is written twice: which of the two counts cannot be told';

/** Maximum size of a document in bytes, for every intake channel. */
export const DOCUMENT_BYTES_MAX = 1_048_576;

/**
 * Parses a payload; for a text that is no JSON, the problem says where it breaks. A member that
 * occurs twice is refused, because only its last value would count, which may be another amount
 * than was meant.
 */
export function parsePayload(
  text: string,
): { readonly payload: unknown } | { readonly problems: readonly Problem[] } {
  try {
    const json = text.replace(/^\uFEFF/, '');
    const payload: unknown = JSON.parse(json);
    // A larger text is not searched for such members, because it is refused as too large anyway.
    const path = json.length > DOCUMENT_BYTES_MAX ? undefined : memberTwice(json);
    return path === undefined ? { payload } : { problems: [{ path, message: WRITTEN_TWICE }] };
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    // Drops the line number of the parser's message, which is wrong for one line of many.
    const reason = said.replace(/ at position \d+ \(line 1 column (\d+)\)$/, ' at column $1');
    const what = isDamaged(text) ? 'is no JSON, and not UTF-8' : 'is no JSON';
    return { problems: [{ path: '', message: `${what}: ${reason}` }] };
  }
}

// Texts with several documents: one JSON over many lines, or NDJSON.

export interface TextDocument {
  readonly line: number;
  /** Parsed JSON of one document; undefined when the text is no JSON. */
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
  // The lines of one broken document are no documents by themselves; in NDJSON the first line may
  // be cut off.
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

// Conflicts: two documents that claim one reference, and their differences.

export interface Conflict {
  /** Stored document that has the reference; it stays as it is. */
  readonly existing: {
    readonly documentId: number;
    readonly state: string;
    readonly document: JsonObject;
  };
  readonly given: { readonly document: JsonObject };
  /** The first differences, such as `lines[0].quantity: 3 there, 4 here`. */
  readonly differences: readonly string[];
}

const DIFFERENCES_MAX = 20;

/** Collects every leaf value of a document as JSON, by its path. */
function leavesOf(value: unknown, path: string, into: Map<string, string>): void {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) leavesOf(item, `${path}[${index}]`, into);
  } else if (isJsonObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      leavesOf(member, path === '' ? name : `${path}.${name}`, into);
    }
  } else if (value !== undefined) {
    into.set(path, JSON.stringify(value));
  }
}

function differencesOf(there: JsonObject, here: JsonObject): string[] {
  const [old, given] = [new Map<string, string>(), new Map<string, string>()];
  leavesOf(there, '', old);
  leavesOf(here, '', given);
  const paths = [...new Set([...old.keys(), ...given.keys()])];
  const different = paths.filter((path) => old.get(path) !== given.get(path));
  const shown = different.slice(0, DIFFERENCES_MAX).map((path) => {
    const [was, is] = [old.get(path) ?? 'nothing', given.get(path) ?? 'nothing'];
    return `${path}: ${was} there, ${is} here`;
  });
  const more = different.length - shown.length;
  return more > 0 ? [...shown, `and ${more} more`] : shown;
}

export function conflictOf(existing: DocumentOnFile, given: JsonObject): Conflict {
  const { outboxId: documentId, state, document } = existing;
  return {
    existing: { documentId, state, document },
    given: { document: given },
    differences: differencesOf(document, given),
  };
}
