/**
 * Kinds of members of rows and requests. A member is declared once, with its title; its JSON, CSV,
 * cell, form field, command option and OpenAPI schema follow from it.
 */
import { z } from 'zod';

/** Things that have a page of their own; a door knows the address. */
export type Thing =
  | 'customer'
  | 'delivery'
  | 'event'
  | 'incident'
  | 'order'
  | 'push'
  | 'report'
  | 'rule'
  | 'run'
  | 'stream'
  | 'style';

/** Part of the surroundings of a list (reading.ts) that names what a member can be. */
export interface Naming {
  readonly reports: { readonly schedules: readonly { readonly report: string }[] };
}

export interface Member {
  readonly title: string;
  readonly kind: 'text' | 'whole' | 'time' | 'duration' | 'hours' | 'money' | 'flag';
  /** Thing whose page the value opens. */
  readonly link?: Thing;
  /**
   * Page that the value opens where it is not the value that names the thing: the thing, or the
   * member of the row that has it, and the member with its key.
   */
  readonly opens?: readonly [thing: string, key: string];
  /** Whether only sessions that see names and addresses read the value. */
  readonly personal?: true;
  /** Meaning of the value, for programs and for the help. */
  readonly about?: string;
  /** Texts that the value can be now, for a picker; a member without it takes any text. */
  readonly values?: (from: Naming) => Promise<readonly string[]>;
  /** Option of a command where it has another name, as `search <text>`; empty: it has none. */
  readonly option?: string;
  /** Whether a command must state it, though programs may leave it out. */
  readonly isStated?: true;
  /** Words that people read for values whose own are for programs. */
  readonly words?: Readonly<Record<string, string>>;
  /** Style class of a cell with this value. */
  readonly class?: (value: string) => string;
  /** Whether people read the time since, as in `5m`, in place of the time. */
  readonly isAge?: true;
  /** Member of the row that has the currency of an amount. */
  readonly currency?: string;
  /** Whether the value is an identifier or a path, which people read in the font of code. */
  readonly isCode?: true;
  /** Earlier name of a member of a query, which addresses and scripts hold. */
  readonly alias?: string;
  /** Today's text for a value under the earlier name, where it was written in another way. */
  readonly fromAlias?: (text: string) => string;
  /** Name of the column in CSV where it is not that of the member, as in `run_id` of `runId`. */
  readonly csv?: string;
  /** Whether CSV has columns for the members of this object in its place. */
  readonly isSpread?: true;
}

type More = Omit<Member, 'title' | 'kind'>;

/** Members by their schemas; a refined copy of a schema is no member any more. */
const members = new WeakMap<z.core.$ZodType, Member>();

function member<T extends z.ZodType>(
  schema: T,
  title: string,
  kind: Member['kind'],
  more: More,
): T {
  if (more.about !== undefined) z.globalRegistry.add(schema, { description: more.about });
  members.set(schema, { title, kind, ...more });
  return schema;
}

export function text(title: string, more: More = {}, most = 1_000) {
  return member(z.string().max(most), title, 'text', more);
}

export function whole(title: string, more: More = {}, least = 0) {
  return member(z.int().min(least), title, 'whole', more);
}

/** A point in time, epoch ms; programs of the console read and write it as ISO 8601 in UTC. */
export function time(title: string, more: More = {}) {
  return member(z.number(), title, 'time', more);
}

/** A length of time in ms; people write it as `30s` or `90d`. */
export function duration(title: string, more: More = {}) {
  return member(z.number().min(0), title, 'duration', more);
}

/** A length of time that programs state as a number of hours; people write it as `36` or `90m`. */
export function hours(title: string, more: More = {}) {
  return member(z.number().min(0), title, 'hours', more);
}

/** An amount in units of its currency, which is another member. */
export function money(title: string, more: More = {}) {
  return member(z.number(), title, 'money', more);
}

export function flag(title: string, more: More = {}) {
  return member(z.boolean(), title, 'flag', more);
}

export function oneOf<const T extends readonly [string, ...string[]]>(
  title: string,
  names: T,
  more: More = {},
) {
  return member(z.enum(names), title, 'text', more);
}

/** Adds a kind to a schema that none of the above can state, such as a pattern. */
export function as<T extends z.ZodType>(
  schema: T,
  title: string,
  kind: Member['kind'],
  more: More = {},
): T {
  return member(schema, title, kind, more);
}

function isWrapper(
  schema: z.core.$ZodType,
): schema is z.ZodOptional | z.ZodNullable | z.ZodDefault {
  return (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault
  );
}

/** The schema below `optional`, `nullable` and `default`. */
export function unwrapped(schema: z.core.$ZodType): z.core.$ZodType {
  return isWrapper(schema) ? unwrapped(schema.unwrap()) : schema;
}

/** The member that a schema was declared as; undefined: it is nested, or without a title. */
export function memberOf(schema: z.core.$ZodType): Member | undefined {
  return members.get(unwrapped(schema));
}

/** Whether the member may be left out. */
export function isOptional(schema: z.core.$ZodType): boolean {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodDefault;
}

/** Whether the member takes several values. */
export function isMany(schema: z.core.$ZodType): boolean {
  const inner = unwrapped(schema);
  const of: readonly z.core.$ZodType[] = inner instanceof z.ZodUnion ? inner.options : [inner];
  return of.some((one) => one instanceof z.ZodArray);
}

/** Texts that an enumeration allows; undefined for all other schemas. */
export function choicesOf(schema: z.core.$ZodType): readonly string[] | undefined {
  const inner = unwrapped(schema);
  return inner instanceof z.ZodEnum ? inner.options.map(String) : undefined;
}
