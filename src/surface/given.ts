/**
 * Reads what a person or a program gave: texts of forms, addresses and command lines, and JSON.
 * Every door reads with this function, so that the same mistake has the same code and words.
 */
import { z } from 'zod';
import { UsageError } from '../lib/errors.ts';
import { isJsonObject } from '../lib/json.ts';
import { localMoment } from '../lib/local-time.ts';
import { nearestName } from '../lib/nearest.ts';
import { parseDuration } from '../lib/units.ts';
import { isOptional, type Member, memberOf, unwrapped } from './members.ts';

export type Given = Readonly<Record<string, unknown>>;

const INVALID = 'request.invalid';
const HOUR_MS = 3_600_000;

/** Time now, and the zone of times that name none. */
interface Here {
  readonly now: number;
  readonly timeZone: string;
}

/** Whether a day or a time is given that names no zone. */
export function namesLocalTime(given: Given): boolean {
  return Object.values(given).some(
    (value) => typeof value === 'string' && /^\s*\d{4}-\d\d-\d\d(?:[T ][\d:.]+)?\s*$/.test(value),
  );
}

const FLAGS: Readonly<Record<string, boolean>> = {
  '1': true,
  true: true,
  on: true,
  '0': false,
  false: false,
};

export function invalid(message: string, hint?: string): UsageError {
  return new UsageError(INVALID, message, { hint });
}

/** A point in time as people write it: ISO 8601, epoch ms, or `7d` for seven days ago. */
function moment(text: string, { now, timeZone }: Here): number | undefined {
  const ago = parseDuration(text);
  if (ago !== undefined) return Math.max(0, now - ago);
  return /^\d{11,15}$/.test(text) ? Number(text) : localMoment(text, timeZone);
}

function hoursOf(text: string): number | undefined {
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text);
  const ms = parseDuration(text);
  return ms === undefined ? undefined : ms / HOUR_MS;
}

/** The value that a text stands for; the text itself where it stands for none. */
function ofText(text: string, kind: Member['kind'], here: Here): unknown {
  const trimmed = text.trim();
  switch (kind) {
    case 'whole':
    case 'money':
      return /^-?\d+(?:\.\d+)?$/.test(trimmed) ? Number(trimmed) : text;
    case 'flag':
      return FLAGS[trimmed] ?? text;
    case 'time':
      return moment(trimmed, here) ?? text;
    case 'duration':
      return parseDuration(trimmed) ?? text;
    case 'hours':
      return hoursOf(trimmed) ?? text;
    default:
      return text.toWellFormed();
  }
}

/** The name that a word stands for, as a table shows it; any other text is taken as it is. */
function nameBehind(text: string, { words = {} }: Pick<Member, 'words'>): string {
  const [name = text] = Object.entries(words).find(([, word]) => word === text) ?? [];
  return Object.hasOwn(words, text) ? text : name;
}

function readValue(schema: z.core.$ZodType, value: unknown, here: Here): unknown {
  const member = memberOf(schema);
  const read = (one: unknown) =>
    member === undefined || typeof one !== 'string'
      ? one
      : ofText(nameBehind(one, member), member.kind, here);
  if (Array.isArray(value)) return value.map(read);
  if (value === '' && isOptional(schema)) return undefined;
  if (value === '' && schema instanceof z.ZodNullable) return null;
  const isList = unwrapped(schema) instanceof z.ZodArray;
  return isList && typeof value === 'string' ? [read(value)] : read(value);
}

function requireKnown(schema: z.ZodObject, given: Given): void {
  const names = Object.keys(schema.shape);
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  const near = nearestName(unknown, names);
  const all = names.length === 0 ? 'nothing can be given here' : `known: ${names.join(', ')}`;
  throw invalid(`${unknown}: there is no such member`, near ? `did you mean ${near}?` : all);
}

const WANTED: Readonly<Record<Member['kind'], string>> = {
  text: 'a text',
  whole: 'a whole number',
  money: 'an amount such as 12.50',
  flag: 'true or false',
  time: 'a point in time such as 2026-11-21T08:00:00Z, or 7d for seven days ago',
  duration: 'a duration such as 30s',
  hours: 'a number of hours, or a duration such as 90m',
};

/** Words for the first problems of a request, each with its place. */
function problemsOf(schema: z.ZodObject, given: Given, error: z.ZodError): string {
  return error.issues
    .map(({ path, message, code }) => {
      const name = String(path[0] ?? 'the request');
      const declared = schema.shape[name];
      const kind = declared === undefined ? undefined : memberOf(declared)?.kind;
      if (given[name] === undefined) return `${name}: it is missing`;
      const isKind = code === 'invalid_type' && path.length === 1 && kind !== undefined;
      return `${path.join('.') || name}: ${isKind ? `must be ${WANTED[kind]}` : message}`;
    })
    .join('; ');
}

/** Renames members that were given to the names that they have today. */
export function canonical(schema: z.ZodObject, given: Given): Given {
  const members = Object.entries(schema.shape).map(([name, declared]) => {
    const { alias = name, fromAlias } = memberOf(declared) ?? {};
    return [alias, { name, fromAlias }] as const;
  });
  const today = new Map(members);
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const known = name in schema.shape ? undefined : today.get(name);
      const read = known?.fromAlias && typeof value === 'string' ? known.fromAlias(value) : value;
      return [known?.name ?? name, read];
    }),
  );
}

/**
 * Reads the members of `schema`, and no others. `timeZone`: of times that name none.
 * @throws UsageError `request.invalid`, which names each member that is wrong
 */
export function readGiven<T extends z.ZodObject>(
  schema: T,
  given: unknown,
  now: number,
  timeZone = 'UTC',
): z.output<T> {
  if (!isJsonObject(given)) throw invalid('the request must be an object');
  const stated = Object.fromEntries(
    Object.entries(canonical(schema, given)).flatMap(([name, value]) => {
      const declared = schema.shape[name];
      const read = declared === undefined ? value : readValue(declared, value, { now, timeZone });
      return read === undefined ? [] : [[name, read]];
    }),
  );
  requireKnown(schema, stated);
  const parsed = schema.safeParse(stated);
  if (parsed.success) return parsed.data;
  throw invalid(problemsOf(schema, stated, parsed.error));
}

/**
 * Reads a single member.
 * @throws UsageError `request.invalid`
 */
export function readMember<T extends z.ZodType>(
  name: string,
  schema: T,
  value: unknown,
  now: number,
): z.output<T> {
  const whole = z.strictObject<Readonly<Record<string, z.ZodType>>>({ [name]: schema });
  readGiven(whole, { [name]: value }, now);
  return schema.parse(readValue(schema, value, { now, timeZone: 'UTC' }));
}
