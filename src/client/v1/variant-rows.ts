/**
 * Reads the variants of a chunk. The sizes of one colour mostly differ only in barcode, quantity
 * and size: a row whose remaining text equals its predecessor's is the same variant with other
 * values, and is neither parsed nor checked again. Duplicate members (lib/reading/odd-json.ts) are
 * searched among these three and `details`, and in rows that cannot serve as a pattern; searching
 * all members of a million rows would take as long as parsing.
 */
import { memberTwice } from '../../lib/json.ts';
import { rowsOf } from '../../lib/json-rows/rows-of.ts';
import { BACKSLASH, COMMA, isSpace, OPEN_OBJECT, QUOTE } from '../../lib/json-rows/structure.ts';
import { ValueScanner } from '../../lib/json-rows/value-scanner.ts';
import { parseOddJson } from '../../lib/reading/odd-json.ts';
import { type CheckedRows, type Reject, readRows } from '../rows.ts';
import type { Decimals } from '../tolerant/decimals.ts';
import type { MemberName, Variant } from './schemas.ts';
import { variantReader } from './variant-form.ts';

/** Values in which a variant differs from the row before it. */
interface VariantRepeat {
  readonly barcode: string;
  readonly quantity: number;
  /** Text of `details.size`; null: the variant has none. */
  readonly size: string | null;
}

type ReadVariant =
  | { readonly variant: Variant }
  /** A row that equals the previous one except for these values. */
  | { readonly repeat: VariantRepeat };

interface ReadVariants {
  readonly rows: readonly ReadVariant[];
  readonly rejects: readonly Reject[];
}

type Parse = (text: string) => unknown;

/**
 * Parses the variants of one chunk; bad rows are set aside. `mayBeDeep`: some may be nested too
 * deep for the database.
 */
type ReadChunk = (bytes: Uint8Array, mayBeDeep?: boolean, parse?: Parse) => CheckedRows<Variant>;

function createChunkReader(names: readonly MemberName[], decimals?: Decimals): ReadChunk {
  const read = variantReader(names, decimals);
  return (bytes, mayBeDeep = false, parse = JSON.parse) => {
    const parsed = rowsOf(bytes, parse);
    const { rows, rejects } = readRows(read, parsed.rows, mayBeDeep);
    if (parsed.broken.length === 0) return { rows, rejects };
    const broken = parsed.broken.map(({ text, reason }) => ({ raw: text, path: '', reason }));
    return { rows, rejects: [...rejects, ...broken] };
  };
}

/** Reads the variants of one chunk, without comparing them with those before. */
export const variantsOf: ReadChunk = (...chunk) => createChunkReader([])(...chunk);

const MINUS = 0x2d;
const ZERO = 0x30;
/** Maximum digits of a number that is an exact integer in any case. */
const DIGITS_MAX = 15;

/** Index after a plain JSON string: printable ASCII, no escape, not empty. -1: it is none. */
function endOfText(text: string, from: number): number {
  if (text.charCodeAt(from) !== QUOTE) return -1;
  for (let at = from + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at > from + 1 ? at + 1 : -1;
    if (code < 0x20 || code > 0x7e || code === BACKSLASH) return -1;
  }
  return -1;
}

/** Index after an integer in JSON.stringify's own form. -1: it is none. */
function endOfInteger(text: string, from: number): number {
  const first = text.charCodeAt(from) === MINUS ? from + 1 : from;
  let at = first;
  while (text.charCodeAt(at) >= ZERO && text.charCodeAt(at) <= ZERO + 9) at += 1;
  const digits = at - first;
  if (digits === 0 || digits > DIGITS_MAX) return -1;
  // A decimal point or an exponent makes it another kind of number.
  if (text[at] === '.' || text[at] === 'e' || text[at] === 'E') return -1;
  return text.charCodeAt(first) === ZERO && at > from + 1 ? -1 : at;
}

/** Index after a name, which some accounts write as a number. -1: it is none. */
function endOfName(text: string, from: number): number {
  return text.charCodeAt(from) === QUOTE ? endOfText(text, from) : endOfInteger(text, from);
}

/** Index after a number, which some accounts write as text. -1: it is none. */
function endOfNumber(text: string, from: number): number {
  if (text.charCodeAt(from) !== QUOTE) return endOfInteger(text, from);
  const end = endOfInteger(text, from + 1);
  return end >= 0 && text.charCodeAt(end) === QUOTE ? end + 1 : -1;
}

const MEMBERS = { barcode: endOfName, quantity: endOfNumber, size: endOfName };
const NAMES = ['barcode', 'quantity', 'size'] as const;
const NAMES_WITHOUT_SIZE = NAMES.filter((name) => name !== 'size');
type Name = (typeof NAMES)[number];

interface Slot {
  readonly name: Name;
  /** Text of the row between the previous value and this one. */
  readonly before: string;
}

/** Text of a row around the values that may differ in the next row. */
interface Pattern {
  readonly slots: readonly Slot[];
  readonly after: string;
}

interface Place {
  readonly name: Name;
  readonly start: number;
  readonly end: number;
}

/**
 * Matches the names of members that may differ, and letter escapes. A text in the place of a value
 * is followed by `,`, `}` or `]`; otherwise it is a name.
 */
const NAME = /\\u|"(barcode|quantity|size|details)"(?![,}\]])/g;

/**
 * Positions of the values that may differ; undefined: a member is missing, duplicate or unclear.
 */
function placesOf(text: string, names: readonly Name[]): readonly Place[] | undefined {
  const places: Place[] = [];
  let hasDetails = false;
  NAME.lastIndex = 0;
  for (let found = NAME.exec(text); found; found = NAME.exec(text)) {
    // An escaped name could be that of any member, so the row is no pattern.
    if (found[1] === undefined || (found[1] === 'details' && hasDetails)) return undefined;
    hasDetails ||= found[1] === 'details';
    const name = names.find((one) => one === found?.[1]);
    if (!name) continue;
    if (text[NAME.lastIndex] !== ':' || places.some((one) => one.name === name)) return undefined;
    const start = NAME.lastIndex + 1;
    const end = MEMBERS[name](text, start);
    if (end < 0) return undefined;
    places.push({ name, start, end });
  }
  return places.length === names.length ? places : undefined;
}

function patternOf(text: string, variant: Variant): Pattern | undefined {
  const hasSize = typeof variant.details?.size === 'string';
  const places = placesOf(text, hasSize ? NAMES : NAMES_WITHOUT_SIZE);
  if (!places) return undefined;
  const slots: Slot[] = [];
  let from = 0;
  for (const { name, start, end } of places) {
    slots.push({ name, before: text.slice(from, start) });
    from = end;
  }
  return { slots, after: text.slice(from) };
}

interface FoundRepeat {
  readonly repeat: VariantRepeat;
  /** Index after the end of the row. */
  readonly end: number;
}

/**
 * Whether a text stands at an index. Compares a slice, because `startsWith` is as slow as parsing
 * the whole row.
 */
function standsAt(piece: string, text: string, at: number): boolean {
  return text.slice(at, at + piece.length) === piece;
}

function repeatAt(text: string, from: number, pattern: Pattern): FoundRepeat | undefined {
  const repeat: { -readonly [Member in keyof VariantRepeat]: VariantRepeat[Member] } = {
    barcode: '',
    quantity: 0,
    size: null,
  };
  let at = from;
  for (const { name, before } of pattern.slots) {
    if (!standsAt(before, text, at)) return undefined;
    const start = at + before.length;
    at = MEMBERS[name](text, start);
    if (at < 0) return undefined;
    const isText = text.charCodeAt(start) === QUOTE;
    const value = isText ? text.slice(start + 1, at - 1) : text.slice(start, at);
    if (name === 'quantity') repeat.quantity = Number(value);
    else repeat[name] = value;
  }
  const { after } = pattern;
  return standsAt(after, text, at) ? { repeat, end: at + after.length } : undefined;
}

/** Index of the next row's start, after the separators at `from`. */
function rowStart(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] === COMMA || isSpace(bytes[at])) at += 1;
  return at;
}

/** Index after the row (an object) at `from`; the end of the bytes when something else is there. */
function rowEnd(bytes: Uint8Array, from: number, value: ValueScanner): number {
  if (bytes[from] !== OPEN_OBJECT) return bytes.length;
  value.begin(OPEN_OBJECT);
  const end = value.scan(bytes, from + 1);
  return end < 0 ? bytes.length : end;
}

/** U+0000 as JSON writes it; there is no other form. */
const ESCAPED_NUL = '\\u0000';

interface ReadOne {
  readonly read: CheckedRows<Variant>;
  readonly pattern: Pattern | undefined;
}

type ReadVariantRows = (bytes: Uint8Array) => ReadVariants;

/**
 * Builds readers for the chunks of a page, one reader per page. Its chunks are read in order: a row
 * may repeat the last one of the chunk before.
 */
export function variantRowsReader(
  names: readonly MemberName[],
  decimals?: Decimals,
): () => ReadVariantRows {
  const readChunk = createChunkReader(names, decimals);
  // An account that renames one of these members gets no comparison with the row before.
  const mayRepeat = names.every(({ ours, theirs }) => ![ours, theirs].some(isRepeated));
  return () => readerOf(readChunk, mayRepeat);
}

export function createVariantReader(): ReadVariantRows {
  return variantRowsReader([])();
}

function isRepeated(name: string): boolean {
  return NAMES.some((one) => one === name);
}

function readerOf(readChunk: ReadChunk, mayRepeat: boolean): ReadVariantRows {
  const value = new ValueScanner();
  let pattern: Pattern | undefined;
  /** Parses a single row; `row` is its bytes as text. */
  const readOne = (bytes: Uint8Array, row: string, mayBeDeep: boolean, isOdd: boolean): ReadOne => {
    const read = readChunk(bytes, mayBeDeep, isOdd ? parseOddJson : JSON.parse);
    const [variant, ...others] = read.rows;
    // A row that is no object is read together with all later ones, so only a row that was read
    // alone can be a pattern.
    const isOne = variant && others.length === 0 && read.rejects.length === 0;
    if (!variant || isOdd) return { read, pattern: undefined };
    const found = isOne && mayRepeat ? patternOf(row, variant) : undefined;
    const isTwice = !found && memberTwice(row) !== undefined;
    return isTwice ? readOne(bytes, row, mayBeDeep, true) : { read, pattern: found };
  };
  return (bytes) => {
    // Latin-1 maps each byte to one character, so that positions in text and bytes agree.
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
    const isOdd = text.includes(ESCAPED_NUL);
    const rows: ReadVariant[] = [];
    const rejects: Reject[] = [];
    let at = rowStart(bytes, 0);
    while (at < bytes.length) {
      const found = pattern && repeatAt(text, at, pattern);
      const end = found?.end ?? rowEnd(bytes, at, value);
      if (found) {
        rows.push({ repeat: found.repeat });
      } else {
        const mayBeDeep = bytes[at] !== OPEN_OBJECT || value.isDeep;
        const one = readOne(bytes.subarray(at, end), text.slice(at, end), mayBeDeep, isOdd);
        ({ pattern } = one);
        for (const variant of one.read.rows) rows.push({ variant });
        rejects.push(...one.read.rejects);
      }
      at = rowStart(bytes, end);
    }
    return { rows, rejects };
  };
}
