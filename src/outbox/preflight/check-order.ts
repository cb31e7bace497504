/**
 * Checks an order before it is sent: first by the mirror alone. If the mirror lacks something that
 * the order names, the service is asked before the order is refused: an article, season or freight
 * that was made a minute ago is no mistake.
 */
import { hasAtLevel, refusalAtLevel } from '../../config/level.ts';
import type { Clock } from '../../lib/clock.ts';
import { RetryLaterError } from '../../lib/errors.ts';
import { formatAmount } from '../../lib/money.ts';
import { nearestName } from '../../lib/nearest.ts';
import { currencyOf } from '../../lib/strings.ts';
import { quarantinedAmong } from '../../mirror/quarantine.ts';
import { inKeys } from '../../store/bulk.ts';
import { readState } from '../../store/state.ts';
import type { Db, Store } from '../../store/store.ts';
import type { Tables } from '../../store/tables.ts';
import { type OrderDocument, pathText, splitCoins, unitsOf, wholeWanted } from '../documents.ts';
import type { FlightProblem } from '../item.ts';
import type { Articles, Asked, ShortLists } from './ask-service.ts';
import { farPrice, farPrices, listPrices } from './far-price.ts';
import { deliveriesOf, freightTypes, orderAsSpelt } from './spelling.ts';

// "Did you mean" for barcodes: barcodes that differ by one slip are looked up by key, because
// comparing a hundred thousand would block everything else.

/** Maximum of unknown barcodes that get a hint; a longer list is no slip. */
const BARCODES_MAX = 20;
/** Maximum length of a barcode for which variants are made. */
const CHARS_MAX = 40;
const DIGITS = '0123456789';
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-';
/** Lengths of EAN, UPC and GTIN barcodes, whose leading zeros spreadsheets drop. */
const LENGTHS = [8, 12, 13, 14];

/** Every text that is one slip away: one character more, one fewer, one changed, or two swapped. */
function oneSlipFrom(barcode: string): Set<string> {
  const signs = /^\d+$/.test(barcode) ? DIGITS : DIGITS + LETTERS;
  const near = new Set(LENGTHS.map((length) => barcode.padStart(length, '0')));
  for (let at = 0; at <= barcode.length; at += 1) {
    const [before, after] = [barcode.slice(0, at), barcode.slice(at)];
    near.add(before + after.slice(1));
    near.add(before + after.charAt(1) + after.charAt(0) + after.slice(2));
    for (const sign of signs) {
      near.add(before + sign + after);
      near.add(before + sign + after.slice(1));
    }
  }
  near.delete(barcode);
  return near;
}

async function firstKnown(db: Db, barcodes: ReadonlySet<string>): Promise<string | undefined> {
  for (const table of ['stock_variant', 'season_variant'] as const) {
    const row = await db
      .selectFrom(table)
      .select('barcode')
      .where(inKeys('barcode', [...barcodes]))
      .where('deleted_at', 'is', null)
      .limit(1)
      .executeTakeFirst();
    if (row) return row.barcode;
  }
  return undefined;
}

/** Finds a similar barcode that is sold for each of the first unknown barcodes. */
async function nearBarcodes(
  db: Db,
  unknown: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const barcode of new Set(unknown.slice(0, BARCODES_MAX))) {
    if (barcode.length > CHARS_MAX) continue;
    const near = await firstKnown(db, oneSlipFrom(barcode));
    if (near !== undefined) found.set(barcode, near);
  }
  return found;
}

export interface OrderCheckDeps {
  readonly store: Store;
  readonly rules: OrderRules;
  readonly articles: Articles;
  readonly shortLists: ShortLists;
}

/**
 * Lists everything wrong or odd with the order, errors first. Throws a RetryLaterError when the
 * service has to be asked and cannot be. `since`: time at which the order came.
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

function lineOf(
  { lines }: OrderDocument,
  { path }: FlightProblem,
  member: 'barcode' | 'deliveryName',
): OrderDocument['lines'][number] | undefined {
  const [, index, name] = LINE_MEMBER.exec(path) ?? [];
  return name === member ? lines[Number(index)] : undefined;
}

/** Lists barcodes that the mirror lacks, or has only as deleted. */
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
  // Articles of an unknown season cannot be asked for at the service.
  if (errorsOf(problems).some(({ path }) => path === 'seasonName')) {
    const why = 'its season is not known';
    return { vouched: new Map(), open: new Map(unknown.map((one) => [one, why])) };
  }
  return articles.ask(unknown, document.seasonName, since, signal);
}

/** Turns errors about articles into warnings if the service has them, or was not asked for them. */
function withoutUnanswered(
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
    `${many} not known here, and the service gave no clear answer (${why}): the order waits ` +
    `for the next pull ("selvedge sync show ${stream}")`;
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
    problems = withoutUnanswered(document, problems, asked);
    const isRefused = errorsOf(problems).length > 0;
    if (!isRefused && asked.open.size > 0) throw waitFor(asked, document);
    return problems;
  };
}

// The check by the mirror. A list that was never pulled completely causes warnings, not refusals.

export interface OrderRules {
  readonly freight: 'learned' | 'required' | 'optional';
  readonly level: string;
  readonly clock: Clock;
  /** Times that a price may be above or below the list price; null: as far as it wants. */
  readonly priceFactor: number | null;
}

/**
 * State key with the time (epoch ms) at which the service last refused an order for want of
 * freight.
 */
export const FREIGHT_REQUIRED_KEY = 'outbox.freight_required';

/**
 * Milliseconds for which such a refusal holds for other orders. The account may need freight no
 * more, which only an order without it can show.
 */
const FREIGHT_REQUIRED_MS = 86_400_000;

async function isFreightLearned(db: Db, clock: Clock): Promise<boolean> {
  const refusedAt = Number((await readState(db, FREIGHT_REQUIRED_KEY)) ?? Number.NaN);
  const sinceMs = clock.now() - refusedAt;
  // A time in the future is one from before the clock was set back.
  return sinceMs >= 0 && sinceMs < FREIGHT_REQUIRED_MS;
}

const WARNINGS_MAX = 50;

function error(path: string, message: string): FlightProblem {
  return { path, message, severity: 'error' };
}

function warning(path: string, message: string): FlightProblem {
  return { path, message, severity: 'warning' };
}

async function knownStreams(db: Db): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('stream_state')
    .select('stream')
    .where('complete_at', 'is not', null)
    .execute();
  return new Set(rows.map(({ stream }) => stream));
}

const UNREADABLE = 'the service has it in a row that cannot be read';

interface Variant {
  readonly deleted: boolean;
  /** Quantity in stock; null for a variant that can only be pre-ordered. */
  readonly quantity: number | null;
  readonly wholesale: number | null;
  /** Net price that the service lists for this account; null if it lists none. */
  readonly net: number | null;
  readonly currency: string | null;
  readonly hidden: boolean;
  readonly seasons: ReadonlySet<string>;
}

const PRICED = ['wsp_price', 'currency', 'net_price', 'net_currency'] as const;

/**
 * Prices of a variant; the net price is dropped if it is in another currency than the list price.
 */
function pricesOf(row: Pick<Tables['stock_variant'], (typeof PRICED)[number]>) {
  const isSame = currencyOf(row.net_currency ?? row.currency) === currencyOf(row.currency);
  const net = isSame ? row.net_price : null;
  return { wholesale: row.wsp_price, net, currency: row.currency };
}

/**
 * Reads variants by barcode; a pre-order uses the prices of its season, even if the stock has the
 * variant.
 */
async function variantsOf(
  db: Db,
  barcodes: readonly string[],
  seasonName: string | undefined,
): Promise<Map<string, Variant>> {
  const columns = ['barcode', 'deleted_at', 'b2b_hidden', ...PRICED] as const;
  const stock = await db
    .selectFrom('stock_variant')
    .select([...columns, 'quantity'])
    .where(inKeys('barcode', barcodes))
    .execute();
  const season = await db
    .selectFrom('season_variant')
    .select([...columns, 'season_name'])
    .where(inKeys('barcode', barcodes))
    .execute();
  const variants = new Map<string, Variant>();
  for (const row of season) {
    const before = variants.get(row.barcode);
    const alive = row.deleted_at === null;
    variants.set(row.barcode, {
      deleted: !alive && (before?.deleted ?? true),
      quantity: null,
      ...pricesOf(row),
      hidden: row.b2b_hidden === 1,
      seasons: new Set([...(before?.seasons ?? []), ...(alive ? [row.season_name] : [])]),
    });
  }
  for (const row of stock) {
    const ahead = variants.get(row.barcode);
    const alive = row.deleted_at === null;
    // A variant that is gone from the stock may still belong to a season.
    if (!alive && ahead && !ahead.deleted) continue;
    variants.set(row.barcode, {
      deleted: !alive,
      quantity: row.quantity,
      ...pricesOf(row),
      hidden: row.b2b_hidden === 1,
      seasons: ahead?.seasons ?? new Set(),
    });
  }
  for (const row of season) {
    const variant = variants.get(row.barcode);
    if (!variant || row.deleted_at !== null || row.season_name !== seasonName) continue;
    variants.set(row.barcode, { ...variant, ...pricesOf(row) });
  }
  return variants;
}

function priceProblem(path: string, price: string, variant: Variant): FlightProblem[] {
  const { net, currency } = variant;
  const units = unitsOf(price);
  if (units === 0) return [warning(path, 'is 0: nothing will be charged for this line')];
  const listed = net ?? variant.wholesale;
  if (listed === null || listed === 0) return [];
  const isFar = units > listed * 2 || units < listed / 2;
  const which = net === null ? 'the wholesale price' : 'your own price';
  const shown = formatAmount(listed, currency);
  return isFar ? [warning(path, `is far from ${which} of ${shown}`)] : [];
}

/**
 * Whether the list that the order chooses from was pulled: the stock or, for a pre-order, the
 * season.
 */
function isOffered({ seasonName }: OrderDocument, known: ReadonlySet<string>): boolean {
  return known.has(seasonName === undefined ? 'stock' : 'season');
}

function unknownText(barcode: string, near: ReadonlyMap<string, string>): string {
  const name = near.get(barcode);
  const hint = name === undefined ? '' : `; did you mean ${name}?`;
  return `${barcode} is not known at the service${hint}`;
}

function lineProblems(
  document: OrderDocument,
  variants: ReadonlyMap<string, Variant>,
  known: ReadonlySet<string>,
  unreadable: ReadonlySet<string>,
  near: ReadonlyMap<string, string>,
): FlightProblem[] {
  const isKnown = isOffered(document, known);
  const wanted = new Map<string, number>();
  return document.lines.flatMap((line, index): FlightProblem[] => {
    const at = `lines[${index}]`;
    const variant = variants.get(line.barcode);
    const before = wanted.get(line.barcode) ?? 0;
    wanted.set(line.barcode, before + line.quantity);
    if ((!variant || variant.deleted) && unreadable.has(line.barcode)) {
      return [warning(`${at}.barcode`, `not checked: ${UNREADABLE}`)];
    }
    if (!variant) {
      return isKnown ? [error(`${at}.barcode`, unknownText(line.barcode, near))] : [];
    }
    if (variant.deleted && isKnown) {
      return [error(`${at}.barcode`, `${line.barcode} is no longer sold at the service`)];
    }
    const problems = priceProblem(`${at}.price`, line.price, variant);
    const { seasonName: season } = document;
    if (season !== undefined && known.has('season') && !variant.seasons.has(season)) {
      problems.push(warning(`${at}.barcode`, `is not among what ${season} offers`));
    }
    const left = Math.max(0, (variant.quantity ?? 0) - before);
    if (season === undefined && isKnown && left < line.quantity) {
      const taken = before > 0 ? ', after the lines above' : '';
      problems.push(warning(`${at}.quantity`, `only ${left} are in stock${taken}`));
    }
    if (variant.hidden) problems.push(warning(`${at}.barcode`, 'is hidden from b2b'));
    return problems;
  });
}

function currencyProblems(
  document: OrderDocument,
  variants: ReadonlyMap<string, Variant>,
): FlightProblem[] {
  const { currency, lines } = document;
  const shown = new Map<string, number>();
  for (const [index, { barcode }] of lines.entries()) {
    const own = currencyOf(variants.get(barcode)?.currency);
    if (own && !shown.has(own)) shown.set(own, index);
  }
  const names = [...shown.keys()];
  if (names.length > 1) {
    const [, index] = [...shown][1] ?? ['', 0];
    return [error(`lines[${index}].barcode`, `is priced in another currency: ${names.join(', ')}`)];
  }
  const [only] = names;
  if (currency !== undefined && only !== undefined && currency !== only) {
    return [error('currency', `is ${currency}, but the service has these prices in ${only}`)];
  }
  const own = currency ?? only ?? '';
  const split = splitCoins({ ...document, currency: own });
  return split.map((path) => error(pathText(path), wholeWanted(own)));
}

/** Lists prices that cannot be meant, each in the currency of the order or of its article. */
async function priceProblems(
  db: Db,
  { currency, lines }: OrderDocument,
  variants: ReadonlyMap<string, Variant>,
  factor: number | null,
): Promise<FlightProblem[]> {
  if (factor === null) return [];
  const barcodes = lines.map(({ barcode }) => barcode);
  const known = await listPrices(db, barcodes);
  const found = lines.map((line, index) => {
    const own = currency ?? variants.get(line.barcode)?.currency ?? null;
    return farPrice({ ...line, index, currency: own }, known.get(line.barcode) ?? [], factor);
  });
  return farPrices(found);
}

const NAMES_SHOWN = 12;

/** Hint with the name that may have been meant, and the names that exist. */
function suggestion(name: string, names: readonly string[]): string {
  const near = nearestName(name, names);
  const more = names.length - NAMES_SHOWN;
  const shown = names.slice(0, NAMES_SHOWN).join(', ') + (more > 0 ? ` and ${more} more` : '');
  if (near === undefined) return names.length === 0 ? '' : `; there are: ${shown}`;
  return `; did you mean ${near}?${names.length === 1 ? '' : ` there are: ${shown}`}`;
}

async function seasonProblems(
  db: Db,
  { seasonName, lines }: OrderDocument,
  known: ReadonlySet<string>,
  { level }: OrderRules,
): Promise<FlightProblem[]> {
  if (seasonName === undefined) {
    return lines.flatMap(({ deliveryName }, index) =>
      deliveryName === undefined
        ? []
        : [error(`lines[${index}].deliveryName`, 'needs a seasonName (pre-order)')],
    );
  }
  const missing = lines.flatMap(({ deliveryName }, index) =>
    deliveryName === undefined
      ? [error(`lines[${index}].deliveryName`, 'is missing; a pre-order has one on every line')]
      : [],
  );
  if (!hasAtLevel(level, 'preOrders')) {
    return [error('seasonName', refusalAtLevel(level, 'preOrders')), ...missing];
  }
  if (!known.has('seasons')) return missing;
  const seasons = await db
    .selectFrom('season')
    .select(['season_name', 'unread'])
    .where('deleted_at', 'is', null)
    .execute();
  const names = seasons.map((row) => row.season_name);
  // The season's mirrored row may be older than its unreadable new one, and lack a delivery.
  if ((await quarantinedAmong(db, ['season'], 'seasonName', [seasonName])).has(seasonName)) {
    return [...missing, warning('seasonName', `not checked: ${UNREADABLE}`)];
  }
  if (!names.includes(seasonName)) {
    const near = suggestion(seasonName, names);
    return [error('seasonName', `there is no season ${seasonName}${near}`), ...missing];
  }
  if (seasons.some((row) => row.season_name === seasonName && row.unread !== null)) {
    return [
      ...missing,
      warning('seasonName', 'its deliveries are not checked: they cannot be read'),
    ];
  }
  const deliveries = await deliveriesOf(db, seasonName);
  // Unreadable names look like a season without deliveries; the service refuses one that truly has
  // none.
  if (deliveries.length === 0) {
    const message = `not checked: no delivery of ${seasonName} can be read`;
    return [...missing, warning('seasonName', message)];
  }
  const unknown = lines.flatMap(({ deliveryName }, index) => {
    if (deliveryName === undefined || deliveries.includes(deliveryName)) return [];
    const near = suggestion(deliveryName, deliveries);
    const message = `${seasonName} has no delivery ${deliveryName}${near}`;
    return [error(`lines[${index}].deliveryName`, message)];
  });
  return [...missing, ...unknown];
}

async function freightProblems(
  db: Db,
  { freight }: OrderDocument,
  known: ReadonlySet<string>,
  rules: OrderRules,
): Promise<FlightProblem[]> {
  if (!freight) {
    const isRequired =
      !hasAtLevel(rules.level, 'orderWithoutFreight') ||
      rules.freight === 'required' ||
      (rules.freight === 'learned' && (await isFreightLearned(db, rules.clock)));
    return isRequired ? [error('freight', 'is missing; this account requires it')] : [];
  }
  const { type } = freight;
  if (type === undefined || !known.has('freight')) return [];
  const types = await freightTypes(db);
  if (types.includes(type)) return [];
  if ((await quarantinedAmong(db, ['freight_option'], 'freightType', [type])).has(type)) {
    return [warning('freight.type', `not checked: ${UNREADABLE}`)];
  }
  return [error('freight.type', `there is no freight ${type}${suggestion(type, types)}`)];
}

function capped(problems: readonly FlightProblem[]): FlightProblem[] {
  const errors = problems.filter(({ severity }) => severity === 'error');
  const warnings = problems.filter(({ severity }) => severity === 'warning');
  const left = warnings.length - WARNINGS_MAX;
  const more = left > 0 ? [warning('', `and ${left} more warnings`)] : [];
  return [...errors, ...warnings.slice(0, WARNINGS_MAX), ...more];
}

/** Lists everything wrong or odd with the order, judged by the mirror, errors first. */
export async function checkOrder(
  db: Db,
  document: OrderDocument,
  rules: OrderRules,
): Promise<FlightProblem[]> {
  const known = await knownStreams(db);
  const variants = await variantsOf(
    db,
    document.lines.map(({ barcode }) => barcode),
    document.seasonName,
  );
  const unsold = document.lines
    .map(({ barcode }) => barcode)
    .filter((barcode) => variants.get(barcode)?.deleted ?? true);
  const unreadable = await quarantinedAmong(
    db,
    ['stock_variant', 'season_variant'],
    'barcode',
    unsold,
  );
  const unheard = unsold.filter((barcode) => !variants.has(barcode));
  const far = await priceProblems(db, document, variants, rules.priceFactor);
  const problems = [
    ...lineProblems(document, variants, known, unreadable, await nearBarcodes(db, unheard)),
    ...currencyProblems(document, variants),
    ...far,
    ...(await seasonProblems(db, document, known, rules)),
    ...(await freightProblems(db, document, known, rules)),
  ];
  const isWhole = known.has('stock') || known.has('season');
  const isMissing = document.lines.some(({ barcode }) => !variants.has(barcode));
  if (!isWhole || (isMissing && !isOffered(document, known))) {
    problems.push(warning('lines', 'not checked: the variants were never pulled completely'));
  }
  if (!document.shippingAddress && !hasAtLevel(rules.level, 'orderWithoutAddress')) {
    problems.push(error('shippingAddress', `is missing; level ${rules.level} requires it`));
  }
  return capped(problems);
}
