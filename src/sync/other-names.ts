/**
 * Suggests renamed members of variants: a contract member that no row has, while every row has an
 * unknown one. Only a person can confirm such a pair (service.dialect.v1.members).
 */
import { sql } from 'kysely';
import { nearestName } from '../lib/nearest.ts';
import type { Db } from '../store/store.ts';

export interface OtherName {
  /** Path of the member in the contract. */
  readonly ours: string;
  /** Paths of unknown members that every row has; only the similar one, if there is one. */
  readonly theirs: readonly string[];
  /** Line for the configuration that confirms the suggested pair. */
  readonly setting: string;
}

/**
 * Columns of a variant whose members every variant has when details are shown at all, with their
 * paths.
 */
const NEEDED: Readonly<Record<string, string>> = {
  style_no: 'details.styleNo',
  style_name: 'details.styleName',
  brand_name: 'details.brandName',
  color_name: 'details.colorName',
  size: 'details.size',
  currency: 'details.currency',
  price: 'details.price',
  wsp_price: 'details.wspPrice',
};
const COLUMNS = Object.keys(NEEDED);

function ofPath(path: string): readonly [of: string, name: string] {
  const [head = '', ...below] = path.split('.');
  return below.length === 0 ? ['variant', head] : [head, below.join('.')];
}

function folded(path: string): string {
  return path.replaceAll(/[_-]/g, '').toLowerCase();
}

function commonStart(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  return at;
}

/**
 * Finds the path that is similar to the contract's: equal apart from joined, shortened or mistyped
 * words, as `style_number` for `styleNo`.
 */
function alike(ours: string, theirs: readonly string[]): string | undefined {
  const own = folded(ours);
  const others = new Map(theirs.map((path) => [folded(path), path]));
  const near = others.has(own) ? own : nearestName(own, others.keys());
  if (near !== undefined) return others.get(near);
  const starts = [...others.keys()]
    .map((other) => ({ other, letters: commonStart(own, other) }))
    .filter(({ letters }) => letters > own.length / 2)
    .sort((a, b) => b.letters - a.letters);
  const [first, second] = starts;
  const isOne = first !== undefined && first.letters > (second?.letters ?? 0);
  return isOne ? others.get(first.other) : undefined;
}

/** Describes for a person which unknown members may stand for the missing one. */
export function describeOtherName({ ours, theirs }: OtherName): string {
  return `${ours} never comes, and every row has ${theirs.join(', ')}`;
}

function otherName(path: string, candidates: readonly string[]): OtherName | undefined {
  const [of, ours] = ofPath(path);
  const same = candidates.filter((other) => ofPath(other)[0] === of);
  if (same.length === 0) return undefined;
  const one = alike(
    ours,
    same.map((other) => ofPath(other)[1]),
  );
  const theirs = one === undefined ? same : same.filter((other) => ofPath(other)[1] === one);
  const name = theirs.length === 1 ? ofPath(theirs[0] ?? '')[1] : '…';
  const setting = `service.dialect.v1.members: [{ of: ${of}, ours: ${ours}, theirs: ${name} }]`;
  return { ours: path, theirs, setting };
}

/**
 * Suggests names for members that no row has. `unknown` counts, per member without a column, how
 * many of the latest `sample` rows have it.
 */
export async function otherNames(
  db: Db,
  table: string,
  unknown: Readonly<Record<string, number>>,
  sample: number,
): Promise<readonly OtherName[]> {
  if (Object.keys(unknown).length === 0) return [];
  const counts = COLUMNS.map((name) => sql`count(${sql.ref(name)}) ${sql.ref(name)}`);
  const { rows } = await sql<Readonly<Record<string, number>>>`
    select count(*) "rows", ${sql.join(counts)} from (
      select ${sql.join(COLUMNS.map((name) => sql.ref(name)))} from ${sql.table(table)}
      order by changed_at desc limit ${sample})`.execute(db);
  const [seen] = rows;
  if (!seen?.rows) return [];
  const everywhere = Object.keys(unknown).filter((path) => unknown[path] === seen.rows);
  return Object.entries(NEEDED).flatMap(([column, path]) =>
    seen[column] === 0 ? (otherName(path, everywhere) ?? []) : [],
  );
}
