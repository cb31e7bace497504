/**
 * Holds accepts that would rest on old data: one by a rule that reads a stream is held while the
 * last complete pull of that stream, or the ERP's credit figures, are older than their limit. The
 * delivery is decided by itself once the data is fresh.
 */
import { parseDuration } from '../../lib/units.ts';
import type { Rule, RuleSet } from '../../rules/rule.ts';
import { endIncidents, openIncident } from '../../store/incidents.ts';
import type { Db, Tx } from '../../store/store.ts';
import { FIRST_FROM, isPrice, MOVED_BY, streamsOf } from '../fact-streams.ts';
import type { Subject } from '../facts.ts';
import type { Candidate, FreshnessMs, Precaution } from '../judgement.ts';
import { safeguardHold } from '../reject/outcome.ts';

const CREDIT = /^customer\.credit\b/;

/**
 * Names the streams of the facts that the rules read: prices of a pre-order come from the stream of
 * its season, prices of any other order from the stock.
 */
function movedOf(reads: readonly string[], { facts }: Pick<Subject, 'facts'>): readonly string[] {
  const isAhead = facts.order.season !== null && facts.order.season !== undefined;
  const priced = isAhead ? 'season' : 'stock';
  const others = streamsOf(
    MOVED_BY,
    reads.filter((path) => !isPrice(path)),
  );
  return reads.some(isPrice) ? [...others, priced] : others;
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
  // A timestamp in the future was written before the clock was set back, so the true age is
  // unknown.
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

/**
 * Milliseconds that the data of a stream may be old: by the rules' settings, else by the
 * configuration.
 */
function limitOf(
  { ruleSet, freshness }: Pick<Asked, 'ruleSet' | 'freshness'>,
  stream: 'stock' | 'season',
): number | undefined {
  const own = ruleSet.settings.safeguards.accept.freshness[stream];
  return own === undefined ? freshness[stream] : parseDuration(own);
}

async function staleStream(tx: Tx, asked: Asked, rules: readonly Rule[]) {
  const streams = movedOf(
    rules.flatMap(({ reads }) => reads),
    asked.subject,
  );
  for (const stream of ['stock', 'season'] as const) {
    const limitMs = limitOf(asked, stream);
    // A stream that the configuration does not pull has no limit, so its data never counts as old.
    if (!streams.includes(stream) || limitMs === undefined) continue;
    if (isOld(await completeAt(tx, stream), limitMs, asked.now)) return { stream, limitMs };
  }
  return undefined;
}

/**
 * Whether the rules read credit figures of a customer that are too old, or whose age is not known.
 */
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

/**
 * The reason of the hold names no age: an age changes with each look, and each change is journaled.
 */
function waitsFor({ stream }: Stale): string {
  return `waits for fresh ${stream}; see: selvedge sync show ${stream}`;
}

/** Holds an accept while a stream or the credit figures that its rules read are too old. */
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
 * Opens one incident for each stream whose old data may hold accepts, and ends it once the stream
 * is fresh. Call it between two rounds of decisions.
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
  const read = streamsOf(
    MOVED_BY,
    accepts.flatMap(({ reads }) => reads),
  );
  for (const stream of ['stock', 'season'] as const) {
    const limitMs = limitOf({ ruleSet, freshness }, stream);
    const at = await completeAt(db, stream);
    // Before the first complete pull no incident is opened: nothing is decided, and the log says
    // why.
    const isStale =
      read.includes(stream) && limitMs !== undefined && at !== null && isOld(at, limitMs, now);
    if (!isStale) await endIncidents(db, INCIDENT, [stream], now);
    else {
      const detail = { stream, see: `selvedge sync show ${stream}` };
      await openIncident(db, { ...INCIDENT, key: stream, detail }, now);
    }
  }
}

/** Names the pulled streams that the rules read and that have never had a complete run. */
export async function streamsToComeFirst(
  db: Db,
  { rules, settings }: RuleSet,
  freshness: FreshnessMs,
): Promise<readonly string[]> {
  if (settings.mode === 'off') return [];
  const reads = rules.flatMap(({ mode, reads: paths }) => (mode === 'off' ? [] : paths));
  const missing: string[] = [];
  for (const stream of streamsOf(FIRST_FROM, reads)) {
    if (freshness[stream] === undefined) continue;
    if ((await completeAt(db, stream)) === null) missing.push(stream);
  }
  return missing;
}
