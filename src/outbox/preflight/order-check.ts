/**
 * The check of an order before it is sent. First by the mirror alone; where that would refuse it
 * for something that the mirror does not know, the service is asked before anything is refused: an
 * article, season or freight that was made a minute ago is no mistake of the order.
 */
import { RetryLaterError } from '../../lib/errors.ts';
import { inKeys } from '../../store/bulk.ts';
import type { Db, Store } from '../../store/store.ts';
import type { OrderDocument } from '../documents.ts';
import type { FlightProblem } from '../item.ts';
import type { Articles, Asked } from './articles.ts';
import { checkOrder, type OrderRules } from './order.ts';
import type { ShortLists } from './short-lists.ts';
import { orderAsSpelt } from './spelt.ts';

export interface OrderCheckDeps {
  readonly store: Store;
  readonly rules: OrderRules;
  readonly articles: Articles;
  readonly shortLists: ShortLists;
}

/**
 * Everything that is wrong or odd with the order, errors first. Throws RetryLaterError when the
 * service has to be asked and cannot be. `since`: when the order came.
 */
export type OrderCheck = (
  document: OrderDocument,
  since: number,
  signal: AbortSignal,
) => Promise<FlightProblem[]>;

const LINE_MEMBER = /^lines\[(\d+)\]\.(barcode|deliveryName)$/;

function errorsOf(problems: readonly FlightProblem[]): readonly FlightProblem[] {
  return problems.filter(({ severity }) => severity === 'error');
}

/** The line that a problem is about, if it is about this member of it. */
function lineOf(
  { lines }: OrderDocument,
  { path }: FlightProblem,
  member: 'barcode' | 'deliveryName',
): OrderDocument['lines'][number] | undefined {
  const [, index, name] = LINE_MEMBER.exec(path) ?? [];
  return name === member ? lines[Number(index)] : undefined;
}

/** Those of the barcodes that the mirror has in no row, or in deleted ones only. */
async function unknownOf(db: Db, barcodes: readonly string[]): Promise<readonly string[]> {
  const known = new Set<string>();
  for (const table of ['stock_variant', 'season_variant'] as const) {
    const rows = await db
      .selectFrom(table)
      .select('barcode')
      .where(inKeys('barcode', barcodes))
      .where('deleted_at', 'is', null)
      .execute();
    for (const { barcode } of rows) known.add(barcode);
  }
  return barcodes.filter((barcode) => !known.has(barcode));
}

/** An error that a fresh answer of the service may take away. */
function isAboutSeason(document: OrderDocument, problem: FlightProblem): boolean {
  if (document.seasonName === undefined) return false;
  const named = lineOf(document, problem, 'deliveryName')?.deliveryName;
  return problem.path === 'seasonName' || named !== undefined;
}

const NOTHING_ASKED: Asked = { vouched: new Map(), open: new Map() };

async function askForArticles(
  { store, articles }: OrderCheckDeps,
  document: OrderDocument,
  problems: readonly FlightProblem[],
  since: number,
  signal: AbortSignal,
): Promise<Asked> {
  const named = errorsOf(problems).flatMap(
    (problem) => lineOf(document, problem, 'barcode')?.barcode ?? [],
  );
  const unknown = await unknownOf(store.db, [...new Set(named)]);
  if (unknown.length === 0) return NOTHING_ASKED;
  // Of a season that is not there nothing can be asked.
  if (errorsOf(problems).some(({ path }) => path === 'seasonName')) {
    const why = 'its season is not known';
    return { vouched: new Map(), open: new Map(unknown.map((one) => [one, why])) };
  }
  return articles.ask(unknown, document.seasonName, since, signal);
}

/** What the service vouches for, or was not asked about, is no error of the order. */
function withoutUntold(
  document: OrderDocument,
  problems: readonly FlightProblem[],
  { vouched, open }: Asked,
): FlightProblem[] {
  return problems.map((problem) => {
    const barcode = lineOf(document, problem, 'barcode')?.barcode ?? '';
    const why = vouched.get(barcode) ?? open.get(barcode);
    if (why === undefined || problem.severity !== 'error') return problem;
    return { ...problem, message: `not checked: ${why}`, severity: 'warning' };
  });
}

function waitFor({ open }: Asked, { seasonName }: OrderDocument): RetryLaterError {
  const [first] = open;
  const [barcode, why] = first ?? ['', ''];
  const stream = seasonName === undefined ? 'stock' : 'season';
  const many = open.size === 1 ? `article ${barcode} is` : `${open.size} articles are`;
  const text =
    `${many} not known here, and the service did not tell (${why}): the order waits for the next ` +
    `pull ("selvedge sync show ${stream}")`;
  return new RetryLaterError('outbox.articles_unknown', text);
}

export function createOrderCheck(deps: OrderCheckDeps): OrderCheck {
  const { store, rules, shortLists } = deps;
  const check = async (own: OrderDocument) => {
    const document = await orderAsSpelt(store.db, own);
    return { document, problems: await checkOrder(store.db, document, rules) };
  };
  return async (own, since, signal) => {
    let { document, problems } = await check(own);
    const errors = errorsOf(problems);
    if (errors.length === 0) return problems;
    const lists = [
      ...(errors.some((one) => isAboutSeason(document, one)) ? (['seasons'] as const) : []),
      ...(errors.some(({ path }) => path === 'freight.type') ? (['freight'] as const) : []),
    ];
    for (const name of lists) await shortLists.refresh(name, since, signal);
    if (lists.length > 0) ({ document, problems } = await check(own));
    const asked = await askForArticles(deps, document, problems, since, signal);
    if (asked === NOTHING_ASKED) return problems;
    ({ document, problems } = await check(own));
    problems = withoutUntold(document, problems, asked);
    const isRefused = errorsOf(problems).length > 0;
    if (!isRefused && asked.open.size > 0) throw waitFor(asked, document);
    return problems;
  };
}
