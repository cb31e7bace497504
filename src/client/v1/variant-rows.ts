/**
 * Reads the variants in the bytes of a segment. The sizes of one colour mostly repeat each other
 * but for barcode, quantity and size: a row whose text is that of the row before it but for these
 * values is the same variant with other values, and is neither parsed nor checked again. Every
 * other row is parsed and checked by itself.
 */
import { rowsOf } from '../../lib/json-rows/rows-of.ts';
import { BACKSLASH, COMMA, isSpace, OPEN_OBJECT, QUOTE } from '../../lib/json-rows/structure.ts';
import { ValueScanner } from '../../lib/json-rows/value-scanner.ts';
import { acceptorOf } from '../accept.ts';
import { type CheckedRows, checkRows, type Reject } from '../rows.ts';
import { nested } from './flat-variant.ts';
import { type Variant, variantSchema } from './schemas.ts';

/** What is different in a row that repeats the variant before it. */
interface VariantRepeat {
  readonly barcode: string;
  readonly quantity: number;
  /** `details.size`, if the variant has one. */
  readonly size: string | null;
}

type ReadVariant =
  | { readonly variant: Variant }
  /** The same as the row before it but for these. */
  | { readonly repeat: VariantRepeat };

interface ReadVariants {
  readonly rows: readonly ReadVariant[];
  readonly rejects: readonly Reject[];
}

const acceptsVariant = acceptorOf(variantSchema);

/** The parsed variants of one segment; bad rows are put aside. `mayBeDeep`: too deep to write. */
export function variantsOf(bytes: Uint8Array, mayBeDeep = false): CheckedRows<Variant> {
  const parsed = rowsOf(bytes);
  const checked = checkRows(variantSchema, parsed.rows, acceptsVariant, mayBeDeep);
  const rows = checked.rows.map(nested);
  if (parsed.broken.length === 0) return { rows, rejects: checked.rejects };
  const broken = parsed.broken.map(({ text, reason }) => ({ raw: text, path: '', reason }));
  return { rows, rejects: [...checked.rejects, ...broken] };
}

const MINUS = 0x2d;
const ZERO = 0x30;
/** So many digits are an exact integer in any case. */
const DIGITS_MAX = 15;

/** Behind a string that is what it looks like: printable ASCII, no escape, not empty. Else -1. */
function endOfText(text: string, from: number): number {
  if (text.charCodeAt(from) !== QUOTE) return -1;
  for (let at = from + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at > from + 1 ? at + 1 : -1;
    if (code < 0x20 || code > 0x7e || code === BACKSLASH) return -1;
  }
  return -1;
}

/** Behind an integer that JSON.stringify would write in this way. Else -1. */
function endOfInteger(text: string, from: number): number {
  const first = text.charCodeAt(from) === MINUS ? from + 1 : from;
  let at = first;
  while (text.charCodeAt(at) >= ZERO && text.charCodeAt(at) <= ZERO + 9) at += 1;
  const digits = at - first;
  if (digits === 0 || digits > DIGITS_MAX) return -1;
  // Decimals, or an exponent.
  if (text[at] === '.' || text[at] === 'e' || text[at] === 'E') return -1;
  return text.charCodeAt(first) === ZERO && at > from + 1 ? -1 : at;
}

const MEMBERS = { barcode: endOfText, quantity: endOfInteger, size: endOfText };
const NAMES = ['barcode', 'quantity', 'size'] as const;
const NAMES_WITHOUT_SIZE = NAMES.filter((name) => name !== 'size');
type Name = (typeof NAMES)[number];

interface Slot {
  readonly name: Name;
  /** The row's text from the value before it. */
  readonly before: string;
}

/** The text of a row around the values that may be others in the next one. */
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
 * A name of ours, or an escape of one letter. As a value the same text stands before `,`, `}` or
 * `]`; else it is a name, if perhaps an odd one.
 */
const NAME = /\\u|"(barcode|quantity|size)"(?![,}\]])/g;

/** Where members of these names, each the only one, have their values; undefined: hard to say. */
function placesOf(text: string, names: readonly Name[]): readonly Place[] | undefined {
  const places: Place[] = [];
  NAME.lastIndex = 0;
  for (let found = NAME.exec(text); found; found = NAME.exec(text)) {
    // Whose names are spelled with escapes could be any of ours.
    if (found[1] === undefined) return undefined;
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
  /** Behind the row. */
  readonly end: number;
}

/** `startsWith` goes letter by letter: it takes as long as to parse the row. */
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
    if (name === 'quantity') repeat.quantity = Number(text.slice(start, at));
    else repeat[name] = text.slice(start + 1, at - 1);
  }
  const { after } = pattern;
  return standsAt(after, text, at) ? { repeat, end: at + after.length } : undefined;
}

/** Behind the separators at `from`. */
function rowStart(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] === COMMA || isSpace(bytes[at])) at += 1;
  return at;
}

/** Behind the object at `from`; behind all rows, when something else is there. */
function rowEnd(bytes: Uint8Array, from: number, value: ValueScanner): number {
  if (bytes[from] !== OPEN_OBJECT) return bytes.length;
  value.begin(OPEN_OBJECT);
  const end = value.scan(bytes, from + 1);
  return end < 0 ? bytes.length : end;
}

/** Reads one segment after the other; a row may repeat the last one of the segment before. */
export function createVariantReader(): (bytes: Uint8Array) => ReadVariants {
  const value = new ValueScanner();
  let pattern: Pattern | undefined;
  return (bytes) => {
    // A character is a byte, so that a place in the text is one in the bytes.
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
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
        const read = variantsOf(bytes.subarray(at, end), mayBeDeep);
        const [variant, ...others] = read.rows;
        // A row that is no object takes those behind it along: a row alone is what can be repeated.
        const isOne = variant && others.length === 0 && read.rejects.length === 0;
        pattern = isOne ? patternOf(text.slice(at, end), variant) : undefined;
        for (const one of read.rows) rows.push({ variant: one });
        rejects.push(...read.rejects);
      }
      at = rowStart(bytes, end);
    }
    return { rows, rejects };
  };
}
