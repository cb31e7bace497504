/**
 * Accepts rest on fresh data: one by a rule that reads a stream is held while the last complete
 * pull of that stream is older than it may be, or the ERP's credit figures are. It is decided by
 * itself once the data is fresh.
 */
import { parseDuration } from '../../lib/units.ts';
import type { Rule, RuleSet } from '../../rules/rule.ts';
import { endIncidents, openIncident } from '../../store/incidents.ts';
import type { Db, Tx } from '../../store/store.ts';
import type { Subject } from '../facts.ts';
import type { Candidate, FreshnessMs, Precaution } from '../judgement.ts';
import { safeguardHold } from '../reject/outcome.ts';

const lines = (...names: string[]): readonly string[] =>
  names.map((name) => `delivery.lines.${name}`);
const PRICES = lines('list_price', 'list_price_diff_pct', 'net_price', 'discount');

/** Facts that a stream moves from hour to hour. */
const MOVED_BY: Readonly<Record<string, readonly string[]>> = {
  stock: [...lines('stock_free', 'missing', 'stock_age'), 'stock.age', ...PRICES],
  season: PRICES,
};

const CREDIT = /^customer\.credit\b/;

function streamsOf(reads: readonly string[], { facts }: Pick<Subject, 'facts'>): readonly string[] {
  const isAhead = facts.order.season !== null && facts.order.season !== undefined;
  // The prices of a pre-order are those of its season, of another order those of the stock.
  const isMoved = (path: string, stream: string): boolean =>
    PRICES.includes(path) ? stream === (isAhead ? 'season' : 'stock') : true;
  return Object.entries(MOVED_BY).flatMap(([stream, moved]) =>
    reads.some((path) => moved.includes(path) && isMoved(path, stream)) ? [stream] : [],
  );
}

async function completeAt(db: Db | Tx, stream: string): Promise<number | null> {
  const row = await db
    .selectFrom('stream_state')
    .select('complete_at')
    .where('stream', '=', stream)
    .executeTakeFirst();
  return row?.complete_at ?? null;
}

function isOld(at: number | null, limitMs: number, now: number): boolean {
  // A future timestamp was written before the clock was set back.
  return at === null || at > now || now - at > limitMs;
}

interface Stale {
  readonly stream: string;
  readonly limitMs: number;
}

interface Asked {
  readonly subject: Subject;
  readonly ruleSet: RuleSet;
  readonly freshness: FreshnessMs;
  readonly now: number;
}

/** Milliseconds that a stream may be old: by the rules, else by the configuration. */
function limitOf(
  { ruleSet, freshness }: Pick<Asked, 'ruleSet' | 'freshness'>,
  stream: 'stock' | 'season',
): number | undefined {
  const own = ruleSet.settings.safeguards.accept.freshness[stream];
  return own === undefined ? freshness[stream] : parseDuration(own);
}

async function staleStream(tx: Tx, asked: Asked, rules: readonly Rule[]) {
  const streams = streamsOf(
    rules.flatMap(({ reads }) => reads),
    asked.subject,
  );
  for (const stream of ['stock', 'season'] as const) {
    const limitMs = limitOf(asked, stream);
    // A stream that is not pulled gets no older.
    if (!streams.includes(stream) || limitMs === undefined) continue;
    if (isOld(await completeAt(tx, stream), limitMs, asked.now)) return { stream, limitMs };
  }
  return undefined;
}

/** Whether the credit figures behind these rules are older than they may be, or of no known age. */
async function isCreditOld(tx: Tx, asked: Asked, rules: readonly Rule[]): Promise<boolean> {
  if (!rules.some(({ reads }) => reads.some((path) => CREDIT.test(path)))) return false;
  const { subject, ruleSet, now } = asked;
  const limitMs = parseDuration(ruleSet.settings.safeguards.accept.freshness.credit) ?? 0;
  const row = await tx
    .selectFrom('erp_customer')
    .select('as_of')
    .where('account_no', '=', subject.facts.order.account_no ?? '')
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  return isOld(row?.as_of ?? null, limitMs, now);
}

/** The words never contain an age: what changes with each look would be journaled each time. */
function waitsFor({ stream }: Stale): string {
  return `waits for fresh ${stream}; see: selvedge sync show ${stream}`;
}

/** Holds an accept while data that its rules read is too old. */
export async function holdForStaleData(
  tx: Tx,
  { subject, ruleSet, outcome, now, freshness }: Candidate,
): Promise<Precaution | undefined> {
  if (outcome.kind !== 'accept') return undefined;
  const asked = { subject, ruleSet, freshness, now };
  const rules = ruleSet.rules.filter(({ id }) => outcome.rules.includes(id));
  const stale = await staleStream(tx, asked, rules);
  if (stale) {
    return {
      outcome: safeguardHold(undefined, { safeguard: 'freshness', detail: waitsFor(stale) }),
    };
  }
  if (!(await isCreditOld(tx, asked, rules))) return undefined;
  const detail = 'waits for fresh credit figures of the customer (as_of)';
  return { outcome: safeguardHold(undefined, { safeguard: 'freshness', detail }) };
}

const INCIDENT = { kind: 'accepts_wait', entity: 'stream' } as const;

/**
 * Opens one incident for each stream that accepts wait for, and ends it once the stream is fresh.
 * Call it between two rounds of decisions.
 */
export async function reportStaleStreams(
  db: Db,
  ruleSet: RuleSet,
  freshness: FreshnessMs,
  now: number,
): Promise<void> {
  const accepts = ruleSet.rules.filter(
    ({ action, mode }) => action === 'accept' && mode === 'live',
  );
  const reads = new Set(accepts.flatMap(({ reads: paths }) => paths));
  for (const stream of ['stock', 'season'] as const) {
    const limitMs = limitOf({ ruleSet, freshness }, stream);
    const isRead = (MOVED_BY[stream] ?? []).some((path) => reads.has(path));
    const at = await completeAt(db, stream);
    // Before the first pull another line says what is waited for.
    const isStale = isRead && limitMs !== undefined && at !== null && isOld(at, limitMs, now);
    if (!isStale) await endIncidents(db, INCIDENT, [stream], now);
    else {
      const detail = { stream, see: `selvedge sync show ${stream}` };
      await openIncident(db, { ...INCIDENT, key: stream, detail }, now);
    }
  }
}

const PRODUCT = 'brand|category|country_of_origin|gender|style_no|type|weight';
const STOCK = `missing|stock_|list_price|net_price|discount|${PRODUCT}`;

/** Streams that a fact comes from at all; decisions wait for the first complete pull of each. */
const READ_FROM: Readonly<Record<string, RegExp>> = {
  stock: new RegExp(`^(stock\\.|delivery\\.weight$|delivery\\.lines\\.(${STOCK}))`),
  styles: /^delivery\.lines\.(style_active|noos|color_active)$/,
  seasons: /^season\./,
};

/** Pulled streams that the rules read and that were never complete. */
export async function streamsToComeFirst(
  db: Db,
  { rules, settings }: RuleSet,
  freshness: FreshnessMs,
): Promise<readonly string[]> {
  if (settings.mode === 'off') return [];
  const reads = rules.flatMap(({ mode, reads: paths }) => (mode === 'off' ? [] : paths));
  const missing: string[] = [];
  for (const [stream, isFrom] of Object.entries(READ_FROM)) {
    if (freshness[stream] === undefined || !reads.some((path) => isFrom.test(path))) continue;
    if ((await completeAt(db, stream)) === null) missing.push(stream);
  }
  return missing;
}
