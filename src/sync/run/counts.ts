/**
 * Compares the service's counts with the rows received. A differing count is a doubt, with two
 * exceptions: a person accepted exactly this difference (`sync release`), or the list moved a
 * little between its pages, for which assess-completeness.ts requests the missed rows one by one.
 */
import { isJsonObject, tryParseJson } from '../../lib/json.ts';
import type { Db, Tx } from '../../store/store.ts';
import { countsIn, type PartCount } from '../stream.ts';

/** Number of rows, or share of the rows, that may shift between the pages of a list. */
const SHIFT_ROWS = 5;
const SHIFT_SHARE = 0.01;

/**
 * By how much counts of a run differ from its rows, by `count:<part>`; `twice` has the duplicate
 * rows.
 */
export type CountsOff = Readonly<Record<string, number>>;

/** Name under which duplicate rows are counted. */
export const DUPLICATES = 'twice';

/** Tells whether so few rows may have shifted between pages while the list was read. */
export function isSmallShift(rows: number, of: number): boolean {
  return rows <= Math.max(SHIFT_ROWS, of * SHIFT_SHARE);
}

export interface AcceptedCounts {
  readonly off: CountsOff;
  readonly by: string;
  readonly reason: string;
  /** Time of the acceptance, epoch ms. */
  readonly at: number;
}

/** Permanent differences of the stream's counts that a person accepted. */
export async function acceptedCounts(
  db: Db | Tx,
  stream: string,
): Promise<AcceptedCounts | undefined> {
  const row = await db
    .selectFrom('stream_state')
    .select('count_off')
    .where('stream', '=', stream)
    .executeTakeFirst();
  const said = tryParseJson(row?.count_off ?? '');
  if (!isJsonObject(said)) return undefined;
  const { off, by, reason, at } = said;
  return { off: countsIn(off), by: String(by), reason: String(reason), at: Number(at) };
}

/** Stores accepted count differences, merged with earlier ones of other parts of the list. */
export async function writeAcceptedCounts(
  tx: Tx,
  stream: string,
  said: AcceptedCounts,
): Promise<void> {
  const before = await acceptedCounts(tx, stream);
  const all = { ...said, off: { ...before?.off, ...said.off } };
  await tx
    .updateTable('stream_state')
    .set({ count_off: JSON.stringify(all) })
    .where('stream', '=', stream)
    .execute();
}

function difference(rows: number): string {
  return rows > 0 ? `${rows} more` : `${-rows} fewer`;
}

/** Describes count differences in words, such as `2 more counted than come of SS27`. */
export function describeDifferences(off: CountsOff): string {
  const differences = Object.entries(off).map(([name, rows]) => {
    if (name === DUPLICATES) return `${rows} rows come twice`;
    const part = name.slice('count:'.length);
    return `${difference(rows)} counted than come${part === '' ? '' : ` of ${part}`}`;
  });
  return differences.join(', ');
}

export interface AssessedCounts {
  /** Arguments against the run's completeness, as messages. */
  readonly doubts: readonly string[];
  /** Differences of counts that a person may accept. */
  readonly off: CountsOff;
  /**
   * Whether there is a doubt that nobody can accept: the count itself changed, or was missing once.
   */
  readonly isUnsteady: boolean;
  /** Whether a few rows may have shifted between the pages, which is then verified row by row. */
  readonly hasShifted: boolean;
}

function movedIn({ what, first, last }: PartCount): string {
  const [from, to] = [first, last].map((count) => count ?? 'an unknown number of');
  return `${what} went from ${from} to ${to} rows meanwhile`;
}

/** Compares the counts of a run with its rows; with `isPaged`, rows can shift between the pages. */
export function assessCounts(
  counts: readonly PartCount[],
  accepted: AcceptedCounts | undefined,
  isPaged: boolean,
): AssessedCounts {
  const doubts: string[] = [];
  const off: Record<string, number> = {};
  let isUnsteady = false;
  let hasShifted = false;
  for (const count of counts) {
    const { part, unit, first, last, came } = count;
    const name = `count:${part}`;
    const isKnown = accepted?.off[name] ?? 0;
    const by = last === undefined ? 0 : last - came;
    const moved = first === undefined || last === undefined ? 0 : Math.abs(last - first);
    const isVague = (first === undefined) !== (last === undefined);
    if (!isVague && moved === 0 && (by === 0 || by === isKnown)) continue;
    if (!isVague && isPaged && isSmallShift(Math.max(moved, Math.abs(by - isKnown)), came)) {
      hasShifted = true;
      continue;
    }
    if (isVague || moved > 0) {
      isUnsteady = true;
      doubts.push(movedIn(count));
    }
    if (by === 0 || by === isKnown) continue;
    off[name] = by;
    const known = isKnown === 0 ? '' : `; ${difference(isKnown)} would be as accepted`;
    doubts.push(`the service counts ${last} ${unit}, ${came} came${known}`);
  }
  return { doubts, off, isUnsteady, hasShifted };
}
