/**
 * Declares lists of rows. A declaration is the only place that describes a row: its page, JSON,
 * CSV, OpenAPI schema and command follow from it.
 */
import { z } from 'zod';
import { MASK, withoutQuotes } from '../lib/reading/quoted.ts';
import { type Given, invalid, namesLocalTime, readGiven } from './given.ts';
import { choicesOf, type Member, memberOf, type Thing } from './members.ts';
import type { Reading } from './reading.ts';
import type { Role } from './roles.ts';

/** Place in a list, and the order in which its rows are wanted. */
export interface Page {
  /** Place after which the page begins; undefined: at the beginning. */
  readonly after?: string | undefined;
  /** Place before which the page ends; takes precedence over `after`. */
  readonly back?: string | undefined;
  /** Most rows to read. */
  readonly limit: number;
  readonly sort?: string | undefined;
  readonly descending: boolean;
}

/** Column for people that is made of several members. */
export interface Made<Row> {
  readonly title: string;
  readonly kind?: Member['kind'];
  /** Sort of the list by which the column is ordered. */
  readonly sort?: string;
  /** Whether its texts fall as the sort rises, as ages do. */
  readonly isTurned?: true;
  /** Whether the text is long, so that a page shows it only once somebody asks for it. */
  readonly isFolded?: true;
  text(row: Row, now: number): string | null;
  class?(row: Row): string | undefined;
}

export interface Shown {
  readonly title: string;
  readonly kind: Member['kind'];
  /** Member that the column shows; undefined: it is made. */
  readonly name?: string;
  readonly sort?: string | undefined;
  readonly isTurned?: boolean | undefined;
  readonly member?: Member;
  readonly isFolded?: true | undefined;
  text(row: Given, now: number): string | null;
  class?(row: Given): string | undefined;
}

/** Everything about a list that doors need, whatever its rows are. */
export interface ListHead {
  /** Noun and name, as in `outbox.list`. */
  readonly name: string;
  /** Words of the command where they are not those of the name. */
  readonly command?: string;
  /** Id of the OpenAPI operation. */
  readonly operation: string;
  /** Address at the console without `.json`; `{id}` is the first of `args`. */
  readonly path: string;
  /** Heading of the page, in the plural. */
  readonly title: string;
  /** Sentence without a period for the help and for programs. */
  readonly about: string;
  readonly more?: string;
  readonly examples: readonly (readonly [typed: string, what: string])[];
  /** Members of the query that the address and the command take as arguments. */
  readonly args: readonly string[];
  readonly thing?: Thing;
  /** Lowest role that may read it at the console; undefined: everybody who may come in. */
  readonly role?: Role;
  readonly query: z.ZodObject;
  readonly row: z.ZodObject;
  readonly shown: readonly Shown[];
  /** Titles of the columns that a terminal has room for; undefined: all. */
  readonly terminal?: readonly string[];
  /** Members, or other orders, by which the list can be sorted; the first is the default. */
  readonly sorts: readonly string[];
  /** Words in the place of a table without rows. */
  readonly empty: string;
  /** Parameter that names the place of the next page. */
  readonly pageParameter: 'after' | 'before';
  readonly limit: number;
  /** Member of the JSON answer that has the rows. */
  readonly rowsAs: string;
  /** Further members of the JSON answer. */
  readonly beside: z.ZodObject;
  /** Whether the JSON of the command is that whole answer, in place of the rows alone. */
  readonly isWhole?: true;
}

export interface ListPage {
  readonly rows: readonly Given[];
  /** Place of the next page; null: this page is the last. */
  readonly next: string | null;
  /** Place at which the page before ends; null: this page is the first. */
  readonly back: string | null;
}

export interface List extends ListHead {
  /**
   * Reads one page of rows, masked unless the reader may see names and addresses.
   * @throws UsageError `request.invalid`
   */
  read(from: Reading, given: Given): Promise<ListPage>;
  /** Further members of the JSON answer; `rows` are those of the page. */
  readBeside(from: Reading, given: Given, rows: readonly Given[]): Promise<Given>;
  /** Values for pickers, by the members of the query that have them. */
  choices(from: Reading): Promise<Readonly<Record<string, readonly string[]>>>;
  /** Remarks above the table, such as a pause that holds the rows up. */
  notes(from: Reading): Promise<readonly string[]>;
  /** Lists whose first rows its page shows below its own. */
  readonly below: readonly List[];
}

type Shape = Readonly<Record<string, z.ZodType>>;
type Read<T extends Shape> = z.output<z.ZodObject<T>>;

type Optional = 'args' | 'sorts' | 'pageParameter' | 'limit' | 'rowsAs' | 'more' | 'thing';
type Stated = Omit<ListHead, Optional | 'query' | 'row' | 'shown' | 'beside'> &
  Partial<Pick<ListHead, Optional>>;

/** A list each of whose rows is a place in it. */
interface ByRows<Q extends Shape, R extends Shape> {
  /** Reads rows in the order of the list, also of a page that ends at `back`. */
  read(from: Reading, query: Read<Q>, page: Page): Promise<readonly Read<R>[]>;
  /** Place of a row, for the pages before and after it. */
  place(row: Read<R>, page: Page): string;
}

/** A list whose pages can end before its rows do, such as where they look through a part of it. */
interface ByPages<Q extends Shape, R extends Shape> {
  readPage(
    from: Reading,
    query: Read<Q>,
    page: Page,
  ): Promise<Omit<ListPage, 'rows'> & { readonly rows: readonly Read<R>[] }>;
}

interface Spec<Q extends Shape, R extends Shape, B extends Shape> extends Stated {
  readonly query: Q;
  /** Members in the order of the columns of CSV. */
  readonly row: R;
  readonly shown: readonly ((keyof R & string) | Made<Read<R>>)[];
  readonly beside?: B;
  /** Masks more than the members that are personal, such as names in a text. */
  hide?(from: Reading, rows: readonly Read<R>[]): Promise<readonly Read<R>[]>;
  readBeside?(from: Reading, query: Read<Q>, rows: readonly Given[]): Promise<Read<B>>;
  notes?(from: Reading): Promise<readonly string[]>;
  readonly below?: readonly List[];
}

export type ListSpec<Q extends Shape, R extends Shape, B extends Shape> = Spec<Q, R, B> &
  (ByRows<Q, R> | ByPages<Q, R>);

/** Most rows of an answer of the console, whose thread has other readers. */
export const ROWS_MAX = 10_000;
const LIMIT = 100;

const placed = z.strictObject({
  after: z.string().max(2_000).optional(),
  before: z.string().max(2_000).optional(),
  back: z.string().max(2_000).optional(),
  sort: z.string().optional(),
  descending: z.string().optional(),
  limit: z.string().optional(),
});

/** Parameters of every list, apart from those of its query. */
const PLACED = Object.keys(placed.shape);

function memberAs(name: string, schema: z.core.$ZodType): Shown {
  const member = memberOf(schema) ?? { title: name, kind: 'text' };
  const { title, kind, class: classOf } = member;
  return {
    title,
    kind,
    name,
    sort: name,
    isTurned: member.isAge,
    member,
    text: ({ [name]: value }) => {
      if (value === null || value === undefined) return null;
      return member.words?.[String(value)] ?? String(value);
    },
    class: (row) => classOf?.(String(row[name])),
  };
}

function pageOf(of: ListHead, given: Given, rowsMax: number): Page {
  const texts = Object.entries(given).map(([name, value]) => [name, String(value)]);
  const {
    limit = String(of.limit),
    sort,
    descending,
    back,
    ...places
  } = placed.parse(Object.fromEntries(texts.filter(([, value]) => value !== '')));
  if (!/^\d{1,9}$/.test(limit) || Number(limit) < 1 || Number(limit) > rowsMax) {
    throw invalid(`limit: must be a whole number from 1 to ${rowsMax}`);
  }
  if (sort !== undefined && !of.sorts.includes(sort)) {
    throw invalid(`sort: the list cannot be sorted by ${sort}`, `known: ${of.sorts.join(', ')}`);
  }
  const after = places[of.pageParameter];
  const isDescending = descending === '1' || descending === 'true';
  return { after, back, sort, limit: Number(limit), descending: isDescending };
}

function masked(row: z.ZodObject, rows: readonly Given[]): Given[] {
  const hidden = Object.entries(row.shape).filter(([, one]) => memberOf(one)?.personal);
  return rows.map((of) => {
    const dots = hidden.map(([name]) => [name, of[name] === null ? null : MASK] as const);
    return { ...withoutQuotes(of), ...Object.fromEntries(dots) };
  });
}

/** Reads a list's filters; the zone is asked only for a time without one, because it is costly. */
async function readHere<T extends z.ZodObject>(
  query: T,
  asked: Given,
  from: Reading,
): Promise<z.output<T>> {
  const timeZone = namesLocalTime(asked) ? await from.timeZone() : undefined;
  return readGiven(query, asked, from.now, timeZone);
}

/** Splits what was given into the query and the place of the page. */
export function split(given: Given): readonly [query: Given, place: Given] {
  const entries = Object.entries(given);
  const isPlace = (name: string) => PLACED.includes(name);
  return [
    Object.fromEntries(entries.filter(([name]) => !isPlace(name))),
    Object.fromEntries(entries.filter(([name]) => isPlace(name))),
  ];
}

async function readByRows<Q extends Shape, R extends Shape>(
  { read, place }: ByRows<Q, R>,
  from: Reading,
  query: Read<Q>,
  page: Page,
) {
  const found = await read(from, query, { ...page, limit: page.limit + 1 });
  const hasMore = found.length > page.limit;
  const isBack = page.back !== undefined;
  const rows = isBack ? found.slice(-page.limit) : found.slice(0, page.limit);
  const places = rows.map((one) => place(one, page));
  const hasNext = isBack || hasMore;
  const hasBack = isBack ? hasMore : page.after !== undefined;
  return {
    rows,
    next: hasNext ? (places.at(-1) ?? null) : null,
    back: hasBack ? (places[0] ?? null) : null,
  };
}

export function list<Q extends Shape, R extends Shape, B extends Shape>(
  spec: ListSpec<Q, R, B>,
): List & { readonly row: z.ZodObject<R> } {
  const query = z.strictObject(spec.query);
  const row = z.strictObject(spec.row);
  const shown = spec.shown.map((one): Shown => {
    if (typeof one === 'string') return memberAs(one, row.shape[one] ?? z.unknown());
    const { title, kind = 'text', sort, isTurned, isFolded } = one;
    return {
      title,
      kind,
      sort,
      isTurned,
      isFolded,
      text: (of, now) => one.text(row.parse(of), now),
      class: (of) => one.class?.(row.parse(of)),
    };
  });
  const head: ListHead = {
    args: [],
    sorts: [],
    pageParameter: 'after',
    limit: LIMIT,
    rowsAs: 'rows',
    ...spec,
    query,
    row,
    shown,
    beside: z.strictObject<Shape>({
      ...spec.beside,
      ...(spec.notes && { notes: z.array(z.string()) }),
    }),
  };
  return {
    ...head,
    row,
    async read(from, given) {
      const [asked, place] = split(given);
      const page = pageOf(head, place, from.rowsMax);
      const wanted = await readHere(query, asked, from);
      const { rows, ...places } =
        'readPage' in spec
          ? await spec.readPage(from, wanted, page)
          : await readByRows(spec, from, wanted, page);
      const hidden = from.seesAddresses ? rows : ((await spec.hide?.(from, rows)) ?? rows);
      return { rows: from.seesAddresses ? hidden : masked(row, hidden), ...places };
    },
    async readBeside(from, given, rows) {
      const [asked] = split(given);
      const notes = await spec.notes?.(from);
      const beside = {
        ...(await spec.readBeside?.(from, await readHere(query, asked, from), rows)),
        ...(notes && { notes }),
      };
      return from.seesAddresses ? beside : withoutQuotes(beside);
    },
    async choices(from) {
      const known = Object.entries(query.shape).map(async ([name, schema]) => {
        const found = choicesOf(schema) ?? (await memberOf(schema)?.values?.(from));
        return found === undefined ? [] : [[name, found] as const];
      });
      return Object.fromEntries((await Promise.all(known)).flat());
    },
    async notes(from) {
      const notes = (await spec.notes?.(from)) ?? [];
      return from.seesAddresses ? notes : withoutQuotes(notes);
    },
    below: spec.below ?? [],
  };
}

/** Makes a reader that reads once for an answer, whose rows and remarks are of the same state. */
export function onceForAnswer<T extends object>(read: (from: Reading) => T): (from: Reading) => T {
  const known = new WeakMap<Reading, T>();
  return (from) => {
    const found = known.get(from) ?? read(from);
    known.set(from, found);
    return found;
  };
}

/** Schema of a parameter; of a time it is a text, which may be `7d` for seven days ago. */
function asParameter(schema: z.core.$ZodType): z.core.$ZodType {
  const { kind, about } = memberOf(schema) ?? {};
  return kind === 'time' ? z.string().max(40).meta({ description: about }).optional() : schema;
}

/** Parameters of a list's address, for programs. */
export function parametersOf({ query, args, pageParameter, sorts }: ListHead): z.ZodObject {
  const own = Object.entries(query.shape)
    .filter(([name]) => !args.includes(name))
    .flatMap(([name, one]) => {
      const { alias } = memberOf(one) ?? {};
      const earlier = z.string().optional().meta({ deprecated: true, description: name });
      const today = [name, asParameter(one)] as const;
      return alias === undefined ? [today] : [today, [alias, earlier] as const];
    });
  const [first, ...others] = sorts;
  const order = first === undefined ? {} : { sort: z.enum([first, ...others]).optional() };
  return z.strictObject({
    ...Object.fromEntries(own),
    ...order,
    ...(first === undefined ? {} : { descending: z.enum(['', '0', '1']).optional() }),
    [pageParameter]: z.string().max(2_000).optional(),
    back: z.string().max(2_000).optional(),
    limit: z.int().min(1).max(ROWS_MAX).optional(),
  });
}

/**
 * Page of rows that are all in memory, in their order or sorted by a member; the place of a row is
 * `key` of it.
 */
export function pageOfAll<Row extends object>(
  all: readonly Row[],
  { after, back, limit, sort, descending }: Page,
  key: (row: Row) => string,
): readonly Row[] {
  const valueIn = (row: Row): unknown => (sort === undefined ? null : Reflect.get(row, sort));
  const compare = (a: unknown, b: unknown): number => {
    if (a === b) return 0;
    if (a === null || a === undefined) return 1;
    if (b === null || b === undefined) return -1;
    if (typeof a === 'number' && typeof b === 'number') return a - b;
    return String(a) < String(b) ? -1 : 1;
  };
  const sorted =
    sort === undefined ? [...all] : all.toSorted((a, b) => compare(valueIn(a), valueIn(b)));
  const rows = descending ? sorted.toReversed() : sorted;
  if (back !== undefined) {
    const end = rows.findIndex((row) => key(row) === back);
    return rows.slice(Math.max(0, end - limit), Math.max(0, end));
  }
  const start = after === undefined ? 0 : rows.findIndex((row) => key(row) === after) + 1;
  return rows.slice(start, start + limit);
}
