/**
 * Reads by meaning what a schema refuses, so that a row is lost only when its key is unreadable.
 * Walks the schema once to build a reader; rows are read without zod, because an account may write
 * every amount of a million rows as text. An unreadable member is dropped and kept in its received
 * form with its object; a decisive one is also named with the row (decides.ts). The input is never
 * changed, the row is a copy.
 */
import { z } from 'zod';
import { isJsonObject } from '../../lib/json.ts';
import { keepAsItCame, tellUnread } from '../../lib/reading/as-it-came.ts';
import { OddValue } from '../../lib/reading/odd-json.ts';
import { acceptorOf } from '../accept.ts';
import { doesDecide } from './decides.ts';
import { type Decimals, learnFromRow } from './decimals.ts';
import { readAmount, readFlag, readItems, readText, readWhole } from './values.ts';

const UNREADABLE = Symbol('cannot be read');

/** Notes taken while one row is read, besides its value. */
interface Reading {
  /** Paths of decisive members that are unreadable. */
  readonly unread: string[];
  /** Path of the member because of which the row is lost. */
  lost: string | undefined;
  /** How the account writes decimals. */
  readonly decimals: Decimals | undefined;
}

type Read = (value: unknown, reading: Reading) => unknown;

/** Puts a member's name before the paths that were noted while its value was read. */
function below(name: string, from: number, { unread }: Reading): void {
  for (let at = from; at < unread.length; at += 1) unread[at] = `${name}.${unread[at]}`;
}

/** Builds a reader of single values; a value that was read must satisfy the schema. */
function ofScalar(
  schema: z.core.$ZodType,
  read: (value: unknown, decimals?: Decimals) => unknown,
): Read {
  const accepts = acceptorOf(schema);
  return (value, { decimals }) => {
    const found = read(value, decimals);
    if (found === undefined) return UNREADABLE;
    const isRight = accepts ? accepts(found) : z.safeParse(schema, found).success;
    return isRight ? found : UNREADABLE;
  };
}

/**
 * Builds a reader of texts. A text with U+0000 is refused, because without it the text is another.
 */
function ofString(schema: z.ZodString): Read {
  return ofScalar(schema, (value) => (value instanceof OddValue ? undefined : readText(value)));
}

/**
 * Builds the reader for schemas without one of their own: a value satisfies them or is unreadable.
 */
function ofOther(schema: z.core.$ZodType): Read {
  return (value) => {
    const parsed = z.safeParse(schema, value);
    return parsed.success ? parsed.data : UNREADABLE;
  };
}

function ofArray(schema: z.ZodArray): Read {
  const read = readOf(schema.element);
  return (value, reading) => {
    const items = value instanceof OddValue ? undefined : readItems(value);
    if (!items) return UNREADABLE;
    const list: unknown[] = [];
    for (const [index, item] of items.entries()) {
      const from = reading.unread.length;
      const one = read(item, reading);
      if (one === UNREADABLE) return UNREADABLE;
      below(String(index), from, reading);
      list.push(one);
    }
    return list;
  };
}

interface Member {
  readonly name: string;
  readonly read: Read;
  readonly decides: boolean;
  /** Value of the member when it is unreadable; undefined: the whole object is lost. */
  readonly absent: { readonly value: unknown } | undefined;
}

function memberOf(name: string, schema: z.core.$ZodType): Member {
  const isDeciding = doesDecide(schema);
  const left = z.safeParse(schema, undefined);
  const absent = isDeciding ? { value: null } : left.success && { value: left.data };
  return { name, read: readOf(schema), decides: isDeciding, absent: absent || undefined };
}

/** Text of a member that is left when U+0000 is removed; decisive members never use it. */
function textLeft({ read, decides }: Member, raw: unknown, reading: Reading): unknown {
  if (decides || !(raw instanceof OddValue) || raw.text === undefined) return UNREADABLE;
  return read(raw.text, reading);
}

function readMember(member: Member, raw: unknown, out: object, reading: Reading): unknown {
  const { name, absent } = member;
  const from = reading.unread.length;
  const value = member.read(raw, reading);
  if (value !== UNREADABLE) {
    below(name, from, reading);
    return value;
  }
  // Notes about the parts of a member are discarded when the member is lost as a whole.
  reading.unread.length = from;
  if (!absent) {
    reading.lost = reading.lost === undefined ? name : `${name}.${reading.lost}`;
    return UNREADABLE;
  }
  reading.lost = undefined;
  if (raw !== undefined) keepAsItCame(out, name, raw);
  const left = textLeft(member, raw, reading);
  if (left !== UNREADABLE) return left;
  if (member.decides) reading.unread.push(name);
  return absent.value;
}

/** Whether a value is how some services write an object without members: an empty text or list. */
function isEmpty(value: unknown): boolean {
  return value === '' || (Array.isArray(value) && !(value instanceof OddValue) && !value.length);
}

function ofObject({ shape }: z.ZodObject): Read {
  const members = Object.entries<z.core.$ZodType>(shape).map((entry) => memberOf(...entry));
  return (value, reading) => {
    const given = isEmpty(value) ? {} : value;
    if (!isJsonObject(given)) return UNREADABLE;
    const out: Record<string, unknown> = { ...given };
    for (const member of members) {
      const raw = given[member.name];
      const read = readMember(member, raw, out, reading);
      if (read === UNREADABLE) return UNREADABLE;
      if (read !== raw) out[member.name] = read;
    }
    return out;
  };
}

/** Builds a reader of optional values; an empty text counts as absent where no text is expected. */
function ofMaybe(schema: z.core.$ZodType, inner: z.core.$ZodType, absent: null | undefined): Read {
  const read = readOf(inner);
  const core = bare(inner);
  const isText = [z.ZodString, z.ZodUnion, z.ZodUnknown].some((kind) => core instanceof kind);
  const isObject = core instanceof z.ZodObject;
  const absentValue = z.safeParse(schema, null).success ? null : absent;
  return (value, reading) => {
    if (value === undefined) return undefined;
    if (value === null) return absentValue;
    if (isObject ? isEmpty(value) : value === '' && !isText) return absentValue;
    return read(value, reading);
  };
}

function ofUnion({ options }: z.ZodUnion): Read {
  const all = options.map((option) => ({ accepts: acceptorOf(option), read: readOf(option) }));
  return (value, reading) => {
    const exact = all.find(({ accepts }) => accepts?.(value));
    if (exact) return value;
    for (const { read } of all) {
      const found = read(value, reading);
      if (found !== UNREADABLE) return found;
    }
    return UNREADABLE;
  };
}

/** Letters of a word in lower case, without the plural's ending. */
function wordIn(text: string): string {
  const letters = text.toLowerCase().replaceAll(/[^a-z]/g, '');
  return letters.replace(/ies$/, 'y').replace(/s$/, '');
}

function ofLiteral({ values }: z.ZodLiteral): Read {
  const words = new Map([...values].map((value) => [wordIn(String(value)), value]));
  return (value) => {
    const found = typeof value === 'string' ? words.get(wordIn(value)) : undefined;
    return found ?? UNREADABLE;
  };
}

/** Builds a reader for a schema with a transformation. */
function ofPipe(schema: z.ZodPipe): Read {
  const { in: first, out: second } = schema;
  if (first instanceof z.ZodTransform) {
    const read = readOf(second);
    return (value, reading) => read(z.safeParse(first, value).data, reading);
  }
  const read = readOf(first);
  return (value, reading) => {
    const found = read(value, reading);
    if (found === UNREADABLE) return UNREADABLE;
    const parsed = z.safeParse(schema, found);
    return parsed.success ? parsed.data : UNREADABLE;
  };
}

/** Strips schema wrappers that only say whether a value is required. */
function bare(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    return bare(schema.unwrap());
  }
  return schema;
}

function readOf(schema: z.core.$ZodType): Read {
  if (schema instanceof z.ZodOptional) return ofMaybe(schema, schema.unwrap(), undefined);
  if (schema instanceof z.ZodNullable) return ofMaybe(schema, schema.unwrap(), null);
  if (schema instanceof z.ZodUnknown) return (value) => value;
  if (schema instanceof z.ZodString) return ofString(schema);
  if (schema instanceof z.ZodNumberFormat) return ofScalar(schema, readWhole);
  if (schema instanceof z.ZodNumber) return ofScalar(schema, readAmount);
  if (schema instanceof z.ZodBoolean) return ofScalar(schema, readFlag);
  if (schema instanceof z.ZodArray) return ofArray(schema);
  if (schema instanceof z.ZodObject) return ofObject(schema);
  if (schema instanceof z.ZodUnion) return ofUnion(schema);
  if (schema instanceof z.ZodPipe) return ofPipe(schema);
  if (schema instanceof z.ZodLiteral) return ofLiteral(schema);
  return ofOther(schema);
}

export type Tolerated<T> = { readonly value: T } | { readonly lost: string };

/** Tells the compiler that a value has the schema's type, because reading followed the schema. */
function isOf<T>(value: unknown): value is T {
  return value !== UNREADABLE;
}

/** Builds a reader for rows that the schema refuses; a lost row names its unreadable member. */
export function tolerantReaderOf<T>(
  schema: z.ZodType<T>,
  decimals?: Decimals,
): (raw: unknown) => Tolerated<T> {
  const read = readOf(schema);
  const shown: string[] = [];
  const own = decimals && { ...decimals, shown };
  return (raw) => {
    const reading: Reading = { unread: [], lost: undefined, decimals: own };
    const value = read(raw, reading);
    if (own && shown.length > 0) learnFromRow(shown.splice(0), own);
    if (!isOf<T>(value)) return { lost: reading.lost ?? '' };
    if (isJsonObject(value)) tellUnread(value, reading.unread);
    return { value };
  };
}
