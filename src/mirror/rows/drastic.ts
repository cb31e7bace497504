/**
 * Drastic changes: a quantity, a price or the details of a row drop to nothing, or jump. Single
 * rows do that every day; most rows of a list do it at once when the service is faulty: after a
 * re-index, with cents for euros, behind a proxy that cuts details off. Such changes are counted
 * per page, so that the run can tell the two apart (sync/run/change-guard.ts).
 */
import { isJsonObject, tryParseJson } from '../../lib/json.ts';
import type { SqlRow, SqlValue } from '../../store/bulk.ts';

/** Columns of an entity that are watched for drastic changes. */
export interface GuardedColumns {
  /**
   * Columns, such as the brand, for each of whose values the changes are also counted on their own.
   */
  readonly groups: readonly string[];
  readonly quantity?: string;
  /** Columns with amounts that should not jump. */
  readonly prices: readonly string[];
  /** Columns that rules and orders need; none of them may be lost. */
  readonly needed: readonly string[];
  /** Columns with JSON lists, which may grow but not lose most of what is in them. */
  readonly lists?: readonly string[];
  readonly currency?: string;
  /** Columns with details of a row; some may be lost, but not all at once. */
  readonly details: readonly string[];
}

/** Kinds of drastic changes, each with its description. */
const KINDS = {
  emptied: 'quantities fell to nothing',
  swollen: 'quantities grew tenfold',
  lost: 'prices or details are gone',
  cut: 'lists were cut',
  jumped: 'prices moved by ten times',
  currency: 'have another currency',
} as const;
type Kind = keyof typeof KINDS;
/**
 * Kinds that few goods have by themselves: the last ten pieces are sold, new ones arrive. Members
 * that are gone or jump are no everyday matter, in a short list neither.
 */
const OF_QUANTITIES: ReadonlySet<Kind> = new Set(['emptied', 'swollen']);

/** Factor between old and new amount or quantity from which a change counts as a jump. */
const JUMP = 10;

/**
 * Number of rows that changed drastically, and counts by `kind:…`, `in:…` and `left:…`; `members`
 * and `members:…` count those of which more than a quantity changed. Plain data, so that it can be
 * sent to a thread.
 */
export interface Drastic {
  readonly rows: number;
  readonly counts: Readonly<Record<string, number>>;
}

/** Gives the new value of a column of the row. */
type Now = (column: string) => SqlValue;

function numberIn(value: SqlValue | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function isThere(value: SqlValue | undefined): boolean {
  return value !== null && value !== undefined && value !== '';
}

function hasJumped(before: SqlValue | undefined, now: SqlValue): boolean {
  const [old, value] = [numberIn(before), numberIn(now)];
  if (old === undefined || value === undefined || old <= 0) return false;
  return value >= old * JUMP || value * JUMP <= old;
}

function isEmptied(before: SqlValue | undefined, now: SqlValue): boolean {
  return (numberIn(before) ?? 0) > 0 && (numberIn(now) ?? 0) <= 0;
}

function isSwollen(before: SqlValue | undefined, now: SqlValue): boolean {
  const old = numberIn(before) ?? 0;
  return old > 0 && (numberIn(now) ?? 0) >= old * JUMP;
}

function lengthOf(value: SqlValue | undefined): number {
  const list = typeof value === 'string' ? tryParseJson(value) : undefined;
  return Array.isArray(list) ? list.length : 0;
}

function kindsOf(guarded: GuardedColumns, before: SqlRow, now: Now): readonly Kind[] {
  const { quantity, prices, needed, lists = [], currency, details } = guarded;
  const isLost = (column: string): boolean => isThere(before[column]) && !isThere(now(column));
  const had = details.filter((column) => isThere(before[column]));
  const kinds: Kind[] = [];
  if (quantity !== undefined && isEmptied(before[quantity], now(quantity))) kinds.push('emptied');
  if (quantity !== undefined && isSwollen(before[quantity], now(quantity))) kinds.push('swollen');
  if (needed.some(isLost) || (had.length > 0 && had.every(isLost))) kinds.push('lost');
  const isCut = (column: string): boolean => {
    return lengthOf(now(column)) * 2 < lengthOf(before[column]);
  };
  if (lists.some(isCut)) kinds.push('cut');
  if (prices.some((column) => hasJumped(before[column], now(column)))) kinds.push('jumped');
  if (currency !== undefined && isThere(before[currency]) && isThere(now(currency))) {
    if (before[currency] !== now(currency)) kinds.push('currency');
  }
  return kinds;
}

export const NOT_DRASTIC: Drastic = { rows: 0, counts: {} };

/** Reads the counts of drastic changes in the form in which a run stores them. */
export function drasticIn(kept: {
  readonly rows_drastic: number;
  readonly drastic: string;
}): Drastic {
  const counts = tryParseJson(kept.drastic);
  const named = isJsonObject(counts) ? Object.entries(counts) : [];
  const numbers = named.map(([name, count]) => [name, Number(count)] as const);
  return { rows: kept.rows_drastic, counts: Object.fromEntries(numbers) };
}

export function sumOfDrastic(a: Drastic, b: Drastic): Drastic {
  if (b.rows === 0) return a;
  const counts: Record<string, number> = { ...a.counts };
  for (const [name, count] of Object.entries(b.counts)) {
    counts[name] = (counts[name] ?? 0) + count;
  }
  return { rows: a.rows + b.rows, counts };
}

export function createDrasticCounter(guarded: GuardedColumns) {
  const counts: Record<string, number> = {};
  let rows = 0;
  const add = (name: string): void => {
    counts[name] = (counts[name] ?? 0) + 1;
  };
  return {
    /**
     * Counts a row that changed. `trusted` is what it was before doubtful changes: what is no
     * drastic change from that either is taken back, not changed.
     */
    note(before: SqlRow, now: Now, trusted: SqlRow = before): void {
      const changed = kindsOf(guarded, before, now);
      if (changed.length === 0) return;
      const left = trusted === before ? changed : kindsOf(guarded, trusted, now);
      const kinds = changed.filter((kind) => left.includes(kind));
      if (kinds.length === 0) return;
      rows += 1;
      for (const kind of kinds) add(`kind:${kind}`);
      const isOfMembers = kinds.some((kind) => !OF_QUANTITIES.has(kind));
      if (isOfMembers) add('members');
      for (const column of guarded.groups) {
        const group = before[column];
        if (!isThere(group)) continue;
        add(`in:${column}=${group}`);
        if (isOfMembers) add(`members:${column}=${group}`);
        if (now(column) !== group) add(`left:${column}=${group}`);
      }
    },
    take: (): Drastic => ({ rows, counts }),
  };
}

/** Number of rows of which more than a quantity changed. */
export function membersOfDrastic({ counts }: Drastic): number {
  return counts.members ?? 0;
}

export interface DrasticGroup {
  readonly column: string;
  readonly value: string;
  readonly rows: number;
  /** Rows of which more than a quantity changed. */
  readonly members: number;
  /** Rows with drastic changes that left the group. */
  readonly left: number;
}

export function groupsOf({ counts }: Drastic): readonly DrasticGroup[] {
  return Object.entries(counts).flatMap(([name, rows]) => {
    if (!name.startsWith('in:')) return [];
    const group = name.slice('in:'.length);
    const column = group.slice(0, group.indexOf('='));
    const value = group.slice(column.length + 1);
    const [members = 0, left = 0] = [counts[`members:${group}`], counts[`left:${group}`]];
    return [{ column, value, rows, members, left }];
  });
}

/** Describes drastic changes in words, the most frequent kind first. */
export function describeDrastic({ counts }: Drastic): string {
  const parts = Object.entries(KINDS).flatMap(([kind, words]) => {
    const count = counts[`kind:${kind}`] ?? 0;
    return count > 0 ? [{ count, text: `${count} ${words}` }] : [];
  });
  return parts
    .sort((a, b) => b.count - a.count)
    .map(({ text }) => text)
    .join(', ');
}
