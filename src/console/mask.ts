/**
 * Masks what tells who a customer is: names, addresses, e-mails, telephone numbers and comments.
 * Reads whole values as pages and programs would get them, so that nothing new is shown by
 * mistake: members are masked by their name, and texts lose what those members hold.
 */
import { isJsonObject } from '../lib/json.ts';

export const MASK = '•••';

/** Members that are private with all below them; names without case and signs. */
const PRIVATE = new Set(
  ['shippingAddress', 'billingAddress', 'company', 'comment', 'firstName', 'lastName']
    .concat(['email', 'phone', 'mobile', 'address', 'address2', 'zip', 'city', 'provinceCode'])
    .map((name) => name.toLowerCase()),
);

/** Members of an address that people may see: what rules and reports go by. */
const OPEN = new Set(['countrycode', 'accountno', 'country']);

/** Members that name things or states: what is in them must stay as it is, to be acted on. */
const KEPT_NAMES = new Set(
  ['id', 'at', 'since', 'barcode', 'reference', 'href', 'digest', 'kind', 'state', 'status']
    .concat(['outcome', 'code', 'rule', 'rules', 'style', 'color', 'size', 'season', 'currency'])
    .concat(['country', 'type', 'actor', 'author', 'endedBy', 'decidedBy', 'stream', 'target'])
    .concat(['name', 'holder']),
);
const KEPT_END = /(?:Id|No|At|Hash|Key|Name)$/;

/** Facts of rules that hold what is private. */
const PRIVATE_FACT = /\b(?:zip|city|comment|company)\b/;

const E_MAIL = /[^\s@<>"'(),;:]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/g;
const TELEPHONE = /(?<![\w.])(?:\+|00)\d[\d ()/-]{6,20}\d/g;
/** Shorter ones would blank out innocent words. */
const TEXT_CHARS_MIN = 3;

function isPrivate(name: string, member: unknown): boolean {
  // The customer of a row is a name, that of a card has an account number and a country too.
  if (name === 'customer') return typeof member === 'string';
  return PRIVATE.has(name.replaceAll('_', '').toLowerCase());
}

/** An operand of a condition on a private fact. */
function isPrivateFact(value: object): boolean {
  return 'text' in value && typeof value.text === 'string' && PRIVATE_FACT.test(value.text);
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
      if (isPrivate(name, member) || isOperand) leavesOf(member, into);
      else privateIn(member, into);
    }
  }
}

function literal(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

/** Finds these texts as whole words; undefined: there are none. */
function finderOf(texts: ReadonlySet<string>): RegExp | undefined {
  if (texts.size === 0) return undefined;
  const longestFirst = [...texts].sort((a, b) => b.length - a.length);
  const any = longestFirst.map(literal).join('|');
  return new RegExp(`(?<![\\p{L}\\p{N}])(?:${any})(?![\\p{L}\\p{N}])`, 'giu');
}

function maskedText(text: string, finder: RegExp | undefined): string {
  const known = finder ? text.replaceAll(finder, MASK) : text;
  return known.replaceAll(E_MAIL, MASK).replaceAll(TELEPHONE, MASK);
}

/** All of it, with its structure. */
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
 * The value without what is private; of the same shape, with {@link MASK} for each text taken out.
 * `others` has more of the same people, whose texts are masked too.
 */
export function maskPrivate<T>(value: T, others: readonly unknown[] = []): T {
  const texts = new Set<string>();
  privateIn(value, texts);
  for (const other of others) privateIn(other, texts);
  // Its texts are masked and nothing else: it has the shape that it had.
  return masked(value, finderOf(texts)) as T;
}
