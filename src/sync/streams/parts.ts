/**
 * Reads long lists in parts: one per season, brand, or both. Parts are read one after the other,
 * and an interrupted run resumes within one. An unavailable part keeps the run from being complete,
 * but not the other parts from being read.
 */
import { isNotFound } from '../../client/http/answer.ts';
import { isInvalid } from '../../client/v1/brands.ts';
import {
  type PullEnd,
  type PullPlace,
  pullPlaceIn,
  type VariantPull,
} from '../../client/v1/variants.ts';
import type { RefusedError } from '../../lib/errors.ts';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import type { KnownChunks } from '../../lib/json-rows/known.ts';
import { partOfList, type VariantList } from '../bulk/variant-list.ts';
import { countsIn, type PartCount, type StreamEnd, type StreamRun } from '../stream.ts';

export interface ListPart {
  readonly list: VariantList;
  /** Name of the list, for messages. */
  readonly what: string;
  /** Common name of the lists of all brands of a season, or of the stock. */
  readonly group: string;
}

type PullCall = StreamRun['call'] & {
  readonly brandName: string | undefined;
  readonly from: PullPlace | undefined;
  readonly known: KnownChunks;
  readonly onPage: () => void;
};

export type OpenPart = (part: ListPart, call: PullCall) => VariantPull;

/** Reads only the first batch of a list, and returns its number of rows. */
export async function firstRows({ batches }: VariantPull): Promise<number> {
  for await (const { rowCount } of batches) return rowCount;
  return 0;
}

/** The service's count of a list, or of a part of a list, with the rows that came. */
export function countOfPull(
  end: Omit<PullEnd, 'status' | 'doubts'>,
  part: string,
  what: string,
): PartCount {
  const { countFirst: first, count: last, rows: came, shortPages } = end;
  return { part, what, unit: `rows of ${what}`, first, last, came, shortPages };
}

type Counted = readonly [first: number | null, last: number | null, shortPages: number];

/** Counts per part of the list, as the checkpoint has them. */
function countedIn(member: unknown): Record<string, Counted> {
  if (!isJsonObject(member)) return {};
  const of = (value: unknown): number | null => (typeof value === 'number' ? value : null);
  const pairs = Object.entries(member).map(([name, pair]) => {
    const [first, last, short]: readonly unknown[] = Array.isArray(pair) ? pair : [];
    return [name, [of(first), of(last), of(short) ?? 0]] as const;
  });
  return Object.fromEntries(pairs);
}

async function pullPart(
  { run, known, variantPage, call, progress }: StreamRun,
  open: OpenPart,
  part: ListPart,
  soFar: JsonObject,
): Promise<PullEnd> {
  const { list } = part;
  const name = partOfList(list);
  const { at, next } = run.checkpoint;
  const from = at === name ? pullPlaceIn(next) : undefined;
  const { brandName } = list;
  const about = { brandName, from, known: known(list), onPage: progress };
  const pull = open(part, { ...call, ...about });
  for await (const batch of pull.batches) {
    await variantPage({ ...soFar, at: name, next: batch.next }, list, batch);
  }
  return pull.end();
}

export interface PulledParts {
  /** Number of rows of each part that was read to its end, by the part's name. */
  readonly done: ReadonlyMap<string, number>;
  /** The service's counts of the parts that were read to their end. */
  readonly counted: ReadonlyMap<string, Counted>;
  /** Names of parts that the service refused: their rows in the mirror count as seen. */
  readonly refused: ReadonlySet<string>;
  readonly doubts: readonly string[];
}

/**
 * Combines the parts into one end. `guardOf` names the unit, such as a season, whose share of
 * deletions the deletion guard checks by itself.
 */
export function endOfParts<Part extends ListPart>(
  parts: readonly Part[],
  { done, counted, refused, doubts }: PulledParts,
  guardOf: (part: Part) => string,
): StreamEnd {
  const own = new Map<string, number>();
  const guarded = new Map<string, number>();
  const counts: PartCount[] = [];
  let isWhole = true;
  for (const part of parts) {
    const name = partOfList(part.list);
    const rows = done.get(name);
    if (rows === undefined) {
      // A part that vanished while it was read has no count.
      isWhole = false;
      if (refused.has(name)) own.set(name, Number.MAX_SAFE_INTEGER);
      continue;
    }
    own.set(name, rows);
    const guard = guardOf(part);
    guarded.set(guard, (guarded.get(guard) ?? 0) + rows);
    const [first, last, shortPages = 0] = counted.get(name) ?? [];
    const totals = { countFirst: first ?? undefined, count: last ?? undefined, rows, shortPages };
    counts.push(countOfPull(totals, part.what, part.what));
  }
  const rowsOfAll = [...done.values()].reduce((sum, of) => sum + of, 0);
  return { expectedRows: isWhole ? rowsOfAll : undefined, counts, doubts, parts: own, guarded };
}

/**
 * Reads all parts of a list; throws when the lists of all brands are refused or unknown. A single
 * brand may be unknown to a list because it has no rows there: then its part is empty.
 */
export async function pullParts(
  context: StreamRun,
  open: OpenPart,
  parts: readonly ListPart[],
  before: readonly string[],
): Promise<PulledParts> {
  const { checkpoint } = context.run;
  const doubts = new Set(before);
  const done = new Map(Object.entries(countsIn(checkpoint.done)));
  const counted = new Map(Object.entries(countedIn(checkpoint.counted)));
  const lost = new Map<ListPart, Error>();
  const refused = new Set<string>();
  let refusal: RefusedError | undefined;
  for (const part of parts) {
    const name = partOfList(part.list);
    if (done.has(name)) continue;
    const [ended, sums] = [Object.fromEntries(done), Object.fromEntries(counted)];
    const soFar = { done: ended, counted: sums, doubts: [...doubts] };
    try {
      const end = await pullPart(context, open, part, soFar);
      done.set(name, end.rows);
      counted.set(name, [end.countFirst ?? null, end.count ?? null, end.shortPages]);
      for (const doubt of end.doubts) doubts.add(`${part.what}: ${doubt}`);
    } catch (error) {
      const isOfBrand = part.list.brandName !== undefined;
      if (isOfBrand && isInvalid(error)) {
        refusal = error;
        refused.add(name);
        doubts.add(`${part.what} is refused: ${error.fullMessage}`);
        continue;
      }
      if (!isNotFound(error)) throw error;
      lost.set(part, error);
      if (isOfBrand) done.set(name, 0);
    }
  }
  const [unknown] = lost.values();
  if (refusal && done.size === 0) throw refusal;
  if (unknown && done.size === parts.length && lost.size === parts.length) throw unknown;
  for (const [{ group }, error] of lost) {
    const isLost = parts.every((one) => one.group !== group || lost.has(one));
    if (isLost) doubts.add(`${group} is listed, and cannot be found: ${error.message}`);
  }
  return { done, counted, refused, doubts: [...doubts] };
}
