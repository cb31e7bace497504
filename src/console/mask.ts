/**
 * Masks all that identifies a customer: names, addresses, e-mails, telephone numbers and comments.
 * Works on whole values as pages and programs would get them, so that a new member cannot show them
 * by mistake: private members are blanked by their name, and their texts are masked wherever else
 * they occur.
 */
import { isJsonObject } from '../lib/json.ts';
import { MASK, withoutQuotes } from '../lib/reading/quoted.ts';
import { peopleIn } from '../store/tables/people.ts';

/** Members of addresses and documents that have no column of their own. */
const ADDRESS = ['billingAddress', 'firstName', 'lastName', 'email', 'phone', 'mobile', 'address']
  .concat(['address2', 'zip', 'city', 'provinceCode'])
  .map((name) => name.toLowerCase());

/** Names of private members, masked with all that is below them; without case and underscores. */
const PRIVATE = new Set([
  ...['sales_order', 'delivery', 'pending_refund']
    .flatMap((table) => Object.keys(peopleIn(table)))
    .map((name) => name.replaceAll('_', '')),
  ...ADDRESS,
]);

/** Members of an address that everybody may see, because rules and reports go by them. */
const OPEN = new Set(['countrycode', 'accountno', 'country']);

/** Members that identify things or states, and stay unmasked because people act on them. */
const KEPT_NAMES = new Set(
  ['id', 'at', 'since', 'barcode', 'reference', 'href', 'digest', 'kind', 'state', 'status']
    .concat(['outcome', 'code', 'rule', 'rules', 'style', 'color', 'size', 'season', 'currency'])
    .concat(['country', 'type', 'actor', 'author', 'endedBy', 'decidedBy', 'stream', 'target'])
    .concat(['name', 'holder', 'entity', 'op', 'assignedTo', 'noteBy']),
);
const KEPT_END = /(?:Id|No|At|Hash|Key|Name)$/;

/** Names in the facts of rules that hold private values. */
const PRIVATE_FACT = /\b(?:zip|city|comment|company)\b/;

const E_MAIL = /[^\s@<>"'(),;:]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/g;
const TELEPHONE = /(?<![\w.])(?:\+|00)\d[\d ()/-]{6,20}\d/g;
/** Shortest private text that is masked elsewhere; shorter ones would blank out innocent words. */
const TEXT_CHARS_MIN = 3;

function isPrivate(name: string, member: unknown): boolean {
  // A row's `customer` is a name; a card's is an object with account number and country.
  if (name === 'customer') return typeof member === 'string';
  return PRIVATE.has(name.replaceAll('_', '').toLowerCase());
}

/** Whether an object is a fact, or an operand of a rule's condition, with a private value. */
function isPrivateFact(value: object): boolean {
  const name = 'text' in value ? value.text : 'path' in value && value.path;
  return typeof name === 'string' && PRIVATE_FACT.test(name);
}

function leavesOf(value: unknown, into: Set<string>): void {
  if (typeof value === 'string') {
    if (value.trim().length >= TEXT_CHARS_MIN) into.add(value.trim());
  } else if (Array.isArray(value)) for (const item of value) leavesOf(item, into);
  else if (isJsonObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      if (!OPEN.has(name.toLowerCase())) leavesOf(member, into);
    }
  }
}

function privateIn(value: unknown, into: Set<string>): void {
  if (Array.isArray(value)) {
    for (const item of value) privateIn(item, into);
  } else if (isJsonObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      const isOperand = name === 'value' && isPrivateFact(value);
      // Members without a column are masked as a whole; their words may be those of anything.
      if (name === 'extra') continue;
      if (isPrivate(name, member) || isOperand) leavesOf(member, into);
      else privateIn(member, into);
    }
  }
}

function literal(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

/** Regular expression that finds these texts as whole words; undefined: there are no texts. */
function finderOf(texts: ReadonlySet<string>): RegExp | undefined {
  if (texts.size === 0) return undefined;
  const longestFirst = [...texts].sort((a, b) => b.length - a.length);
  const any = longestFirst.map(literal).join('|');
  return new RegExp(`(?<![\\p{L}\\p{N}])(?:${any})(?![\\p{L}\\p{N}])`, 'giu');
}

function maskedText(text: string, finder: RegExp | undefined): string {
  const own = withoutQuotes(text);
  const known = finder ? own.replaceAll(finder, MASK) : own;
  return known.replaceAll(E_MAIL, MASK).replaceAll(TELEPHONE, MASK);
}

/** The value with its structure, and a mask for each text and number. */
function blanked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(blanked);
  if (isJsonObject(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        OPEN.has(name.toLowerCase()) ? member : blanked(member),
      ]),
    );
  }
  return typeof value === 'string' || typeof value === 'number' ? MASK : value;
}

function isKept(name: string): boolean {
  return KEPT_NAMES.has(name) || KEPT_END.test(name);
}

function isPlain(member: unknown): boolean {
  return Array.isArray(member) ? member.every(isPlain) : !isJsonObject(member);
}

function masked(value: unknown, finder: RegExp | undefined): unknown {
  if (typeof value === 'string') return maskedText(value, finder);
  if (Array.isArray(value)) return value.map((item) => masked(item, finder));
  if (!isJsonObject(value)) return value;
  const isFact = isPrivateFact(value);
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      if (isPrivate(name, member) || (isFact && name === 'value')) return [name, blanked(member)];
      return [name, isKept(name) && isPlain(member) ? member : masked(member, finder)];
    }),
  );
}

/**
 * The value without its private texts: of the same shape, with {@link MASK} in their place. The
 * private texts of `others`, which are of the same people, are masked too.
 */
export function maskPrivate<T>(value: T, others: readonly unknown[] = []): T {
  const texts = new Set<string>();
  privateIn(value, texts);
  for (const other of others) privateIn(other, texts);
  // Members and lists stay; only private texts and numbers become the mask.
  return masked(value, finderOf(texts)) as T;
}
