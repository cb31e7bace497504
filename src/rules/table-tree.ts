/**
 * Rows of a decision table as a tree by their keys. It is made once for a table; a look-up follows
 * one path through it, whatever the number of rows, and a new day needs no other tree.
 */
import { Decimal, parseDecimal } from './cel/decimal.ts';
import type { TableRow } from './text/settings-schema.ts';

export const DEFAULT_KEY = '*';
export const FIRST_DAY = '0000-01-01';
export const LAST_DAY = '9999-12-31';

interface Cell {
  readonly from: string;
  readonly until: string;
  readonly value: unknown;
}

export interface TableNode {
  /** Nodes by the next key; undefined below the last key. */
  readonly next: Map<string, TableNode> | undefined;
  /** Cells below the last key, one for each period. */
  readonly cells: Cell[];
  /** Day that was asked for last, and whether a row below holds on it. */
  asked: { readonly day: string; readonly holds: boolean } | undefined;
}

function nodeAt(depth: number, keys: number): TableNode {
  return { next: depth < keys ? new Map() : undefined, cells: [], asked: undefined };
}

function cellValue(value: TableRow['value']): unknown {
  return typeof value === 'number' ? (parseDecimal(String(value)) ?? new Decimal(0n, 0)) : value;
}

export function treeOf(rows: readonly TableRow[]): TableNode {
  const count = rows[0]?.keys.length ?? 1;
  const root = nodeAt(0, count);
  for (const { keys, value, from = FIRST_DAY, until = LAST_DAY } of rows) {
    let node = root;
    for (const [at, key] of keys.entries()) {
      const below = node.next?.get(key) ?? nodeAt(at + 1, count);
      node.next?.set(key, below);
      node = below;
    }
    node.cells.push({ from, until, value: cellValue(value) });
  }
  return root;
}

function cellOn({ cells }: TableNode, day: string): Cell | undefined {
  return cells.find(({ from, until }) => from <= day && day <= until);
}

/** Whether any row below the node holds on the day. */
function holdsOn(node: TableNode, day: string): boolean {
  if (node.next === undefined) return cellOn(node, day) !== undefined;
  if (node.asked?.day !== day) {
    node.asked = { day, holds: node.next.values().some((below) => holdsOn(below, day)) };
  }
  return node.asked.holds;
}

/**
 * Nodes that match the keys so far and hold on the day; nodes of an earlier key that was named come
 * before those of default rows.
 */
type Ranked = readonly TableNode[];

function under(ranked: Ranked, key: string, day: string): Ranked {
  const found: TableNode[] = [];
  for (const { next } of ranked) {
    for (const name of key === DEFAULT_KEY ? [key] : [key, DEFAULT_KEY]) {
      const node = next?.get(name);
      if (node !== undefined && holdsOn(node, day)) found.push(node);
    }
  }
  return found;
}

/**
 * Value of the rows below these nodes, or the map by their next key; undefined if there is none.
 */
function valueBelow(ranked: Ranked, day: string): unknown {
  const [first] = ranked;
  if (first === undefined) return undefined;
  return first.next === undefined ? cellOn(first, day)?.value : levelOf(ranked, day);
}

/**
 * Map by the next key, in which an unlisted key gives the value of `*`. Its values are looked up as
 * they are asked for: one map of every key beside all default rows would be their product. The
 * expression library recognizes maps by their constructor, so this is a Map and not a class of its
 * own.
 */
function levelOf(ranked: Ranked, day: string): Map<string, unknown> {
  const level = new Map<string, unknown>();
  const find = (key: string): unknown => valueBelow(under(ranked, key, day), day);
  const has = (key: string): boolean =>
    ranked.some(({ next }) => {
      const node = next?.get(key);
      return node !== undefined && holdsOn(node, day);
    });
  let made: Map<string, unknown> | undefined;
  const whole = (): Map<string, unknown> => {
    const keys = ranked.flatMap(({ next }) => [...(next?.keys() ?? [])]);
    made ??= new Map(keys.filter(has).map((key) => [key, find(key)]));
    return made;
  };
  level.get = find;
  level.has = has;
  level.keys = () => whole().keys();
  level.values = () => whole().values();
  level.entries = () => whole().entries();
  level[Symbol.iterator] = level.entries;
  level.forEach = (work) => whole().forEach(work);
  Object.defineProperty(level, 'size', { get: () => whole().size });
  return level;
}

/** The table as conditions see it on a day. */
export function tableOn(tree: TableNode, day: string): Map<string, unknown> {
  return levelOf([tree], day);
}

const SHOWN_MAX = 5;
/** Maximum of looks for gaps: three keys with many default rows have more than anybody reads. */
const LOOKS_MAX = 1_000_000;

interface Search {
  /** Values of each key that are named in any row, without the default. */
  readonly values: readonly ReadonlySet<string>[];
  readonly shown: (readonly string[])[];
  looks: number;
}

/** Whether one of the nodes has a row for whatever the further keys are. */
function coversAll(nodes: Ranked): boolean {
  return nodes.some((node) => {
    let below: TableNode | undefined = node;
    while (below?.next !== undefined) below = below.next.get(DEFAULT_KEY);
    return below !== undefined;
  });
}

function below(nodes: Ranked, key: string | undefined): Ranked {
  const names = key === undefined ? [DEFAULT_KEY] : [key, DEFAULT_KEY];
  return nodes.flatMap(({ next }) => names.flatMap((name) => next?.get(name) ?? []));
}

/** Counts the values of the last key that no node has. */
function gapsOfLast(search: Search, nodes: Ranked, keys: readonly string[]): number {
  const values = search.values[keys.length] ?? new Set();
  const [most, ...others] = nodes.toSorted((a, b) => (b.next?.size ?? 0) - (a.next?.size ?? 0));
  const more = new Set<string>();
  for (const { next } of others) {
    for (const key of next?.keys() ?? []) if (most?.next?.has(key) !== true) more.add(key);
    search.looks += next?.size ?? 0;
  }
  const count = values.size - (most?.next?.size ?? 0) - more.size;
  if (count === 0 || search.shown.length >= SHOWN_MAX) return count;
  for (const key of values) {
    if (search.shown.length >= SHOWN_MAX) break;
    if (!nodes.some(({ next }) => next?.has(key))) search.shown.push([...keys, key]);
  }
  return count;
}

/**
 * Counts the combinations below these nodes without a row. Values that no node names have the same
 * rows, those of the default, and are looked at once.
 */
function gapsBelow(search: Search, nodes: Ranked, keys: readonly string[]): number {
  if (coversAll(nodes)) return 0;
  if (keys.length === search.values.length - 1) return gapsOfLast(search, nodes, keys);
  const values = search.values[keys.length] ?? new Set();
  const named = new Set(nodes.flatMap(({ next }) => [...(next?.keys() ?? [])]));
  named.delete(DEFAULT_KEY);
  let count = 0;
  for (const key of named) {
    search.looks += 1;
    if (search.looks > LOOKS_MAX) return count;
    count += gapsBelow(search, below(nodes, key), [...keys, key]);
  }
  let left = values.size - named.size;
  for (const key of left > 0 ? values : []) {
    if (named.has(key)) continue;
    const gaps = gapsBelow(search, below(nodes, undefined), [...keys, key]);
    // The others have as many; some more are named while there is room for names.
    if (gaps === 0 || search.shown.length >= SHOWN_MAX) return count + gaps * left;
    count += gaps;
    left -= 1;
  }
  return count;
}

/**
 * Finds combinations of the keys in these rows that none of them covers: some of them, and how many
 * there are; undefined if there are too many to be counted.
 */
export function findGaps(
  tree: TableNode,
  rows: readonly TableRow[],
): { readonly shown: Search['shown']; readonly count: number | undefined } {
  const values = (rows[0]?.keys ?? []).map(
    (_, at) => new Set(rows.map(({ keys }) => keys[at] ?? '')),
  );
  for (const column of values) column.delete(DEFAULT_KEY);
  const search: Search = { values, shown: [], looks: 0 };
  const count = gapsBelow(search, [tree], []);
  return { shown: search.shown, count: search.looks > LOOKS_MAX ? undefined : count };
}
