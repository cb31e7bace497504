/**
 * Drift: members and values of the service that we do not model, or cannot read. None is lost (they
 * are kept with their row) and none is an error, but they are counted, so that the operator sees a
 * change of the service early.
 */

import { z } from 'zod';
import { isJsonObject } from '../lib/json.ts';
import { quoted, quotedUnlessPlain } from '../lib/reading/quoted.ts';
import { acceptorOf } from './accept.ts';
import type { Included } from './v2/document.ts';

/** Rows in which one member could not be read, with an example. */
export interface Unreadable {
  readonly rows: number;
  /** First unreadable value of the member, as shortened JSON in quotation marks. */
  readonly example: string;
}

interface DriftReport {
  /** Member path → rows it occurred in: `details.newMember`. Members of lists carry no index. */
  readonly unknownMembers: Readonly<Record<string, number>>;
  /** `path=value` → occurrences: `status=on_hold`. */
  readonly newValues: Readonly<Record<string, number>>;
  /** Member path → number of rows in which the member cannot be read, with an example. */
  readonly unreadable: Readonly<Record<string, Unreadable>>;
}

export interface DriftMeter {
  /** Compares rows with the schema and counts their drift; `times`: number of identical rows. */
  note(rows: readonly unknown[], times?: number): void;
  report(): DriftReport;
}

/** Member path → values listed by the contract. */
type KnownValues = Readonly<Record<string, readonly string[]>>;

/** Maximum of distinct paths or values that are counted; more would only be noise. */
const ENTRIES_MAX = 200;
const VALUE_CHARS_MAX = 60;

type Members = ReadonlyMap<string, z.core.$ZodType>;

/** Strips schema wrappers that only say whether a member must be present. */
function bare(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    return bare(schema.unwrap());
  }
  if (schema instanceof z.ZodPrefault || schema instanceof z.ZodCatch) return bare(schema.unwrap());
  if (!(schema instanceof z.ZodPipe)) return schema;
  return bare(schema.in instanceof z.ZodTransform ? schema.out : schema.in);
}

/** Members of an object schema, or of the objects in a list. */
function membersOf(schema: z.core.$ZodType): Members | undefined {
  const inner = bare(schema);
  if (inner instanceof z.ZodArray) return membersOf(inner.element);
  if (!(inner instanceof z.ZodObject)) return undefined;
  return new Map(Object.entries<z.core.$ZodType>(inner.shape));
}

interface Shape {
  readonly path: string;
  readonly children: ReadonlyMap<string, Shape | undefined>;
  /** Checks of each member's value against the contract, by the member's name. */
  readonly accepts: ReadonlyMap<string, (value: unknown) => boolean>;
  readonly known: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Visible replacement for U+0000 in a text (lib/reading/odd-json.ts). */
const SHOWN_NUL = '\u2400';

function acceptorOfMember(schema: z.core.$ZodType): (value: unknown) => boolean {
  const accepts = acceptorOf(schema) ?? ((value: unknown) => z.safeParse(schema, value).success);
  return (value) => accepts(value) && !(typeof value === 'string' && value.includes(SHOWN_NUL));
}

function shapeOf(members: Members, path: string, values: KnownValues): Shape {
  const children = new Map<string, Shape | undefined>();
  const accepts = new Map<string, (value: unknown) => boolean>();
  const known = new Map<string, ReadonlySet<string>>();
  for (const [name, schema] of members) {
    const at = path === '' ? name : `${path}.${name}`;
    const below = membersOf(schema);
    children.set(name, below && shapeOf(below, at, values));
    accepts.set(name, below ? (value) => value instanceof Object : acceptorOfMember(schema));
    const listed = values[at];
    if (listed) known.set(name, new Set(listed));
  }
  return { path, children, accepts, known };
}

function count(counts: Map<string, number>, key: string, times: number): void {
  const known = counts.get(key);
  if (known !== undefined || counts.size < ENTRIES_MAX) counts.set(key, (known ?? 0) + times);
}

function shortJson(value: unknown): string {
  return quoted((JSON.stringify(value) ?? '').slice(0, VALUE_CHARS_MAX));
}

/** Counts the drift of rows from a schema, with the values that the contract lists. */
export function createDriftMeter(schema: z.ZodType, values: KnownValues = {}): DriftMeter {
  const root = shapeOf(membersOf(schema) ?? new Map(), '', values);
  const unknownMembers = new Map<string, number>();
  const newValues = new Map<string, number>();
  const unreadable = new Map<string, number>();
  const examples = new Map<string, string>();
  const compare = (value: unknown, shape: Shape, times: number): void => {
    if (Array.isArray(value)) {
      for (const element of value) compare(element, shape, times);
      return;
    }
    if (!isJsonObject(value)) return;
    for (const name of Object.keys(value)) {
      const member = value[name];
      const at = (): string => (shape.path === '' ? name : `${shape.path}.${name}`);
      if (!shape.children.has(name)) count(unknownMembers, quotedUnlessPlain(at()), times);
      if (shape.accepts.get(name)?.(member) === false) {
        count(unreadable, at(), times);
        if (!examples.has(at())) examples.set(at(), shortJson(member));
        continue;
      }
      const below = shape.children.get(name);
      if (below) compare(member, below, times);
      const listed = shape.known.get(name);
      if (listed && typeof member === 'string' && !listed.has(member)) {
        const value = quotedUnlessPlain(member.slice(0, VALUE_CHARS_MAX));
        count(newValues, `${at()}=${value}`, times);
      }
    }
  };
  return {
    note: (rows, times = 1) => compare(rows, root, times),
    report: () => ({
      unknownMembers: Object.fromEntries(unknownMembers),
      newValues: Object.fromEntries(newValues),
      unreadable: Object.fromEntries(
        [...unreadable].map(([path, rows]) => [path, { rows, example: examples.get(path) ?? '' }]),
      ),
    }),
  };
}

/** Drift in the `included` part of a V2 page: its name → number of occurrences. */
export function driftOfIncluded({ wasArray, unknownTypes }: Included): ReadonlyMap<string, number> {
  const types = [...unknownTypes].map(
    ([type, count]) => [`included.${quotedUnlessPlain(type)}`, count] as const,
  );
  return new Map([...(wasArray ? [['included=array', 1] as const] : []), ...types]);
}
