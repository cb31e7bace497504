/** Checks that the data behind a reject is fresh enough. */

import { formatDuration, parseDuration } from '../../lib/units.ts';
import type { Rule, RuleSet } from '../../rules/rule.ts';
import type { Tx } from '../../store/store.ts';
import { completeAt, customerAt, tooOldFor } from '../accept/freshness.ts';
import type { Candidate } from '../judgement.ts';

type Settings = RuleSet['settings'];

/** Time at which we last heard of orders: by a complete sweep of open orders, or by an event. */
async function heardAt(tx: Tx, now: number): Promise<number | null> {
  const event = await tx
    .selectFrom('webhook_event')
    .select((eb) => eb.fn.max('received_at').as('at'))
    .where('received_at', '<=', now)
    .executeTakeFirst();
  const times = [await completeAt(tx, 'orders'), event?.at ?? null];
  const known = times.flatMap((at) => (at === null || at > now ? [] : [at]));
  return known.length > 0 ? Math.max(...known) : null;
}

/** Time since which the oldest order waits that is to be read again; undefined: none waits. */
async function behindSince(tx: Tx): Promise<number | undefined> {
  const row = await tx
    .selectFrom('refresh')
    .select((eb) => eb.fn.min('requested_at').as('at'))
    .executeTakeFirst();
  return row?.at ?? undefined;
}

function tooOld(what: string, at: number | null, limit: string, now: number): string | undefined {
  // A timestamp in the future was written before the clock was set back, so the true age is
  // unknown.
  if (at === null || at > now) return `${what}: its age is not known`;
  const age = now - at;
  if (age <= (parseDuration(limit) ?? 0)) return undefined;
  return `${what} is ${formatDuration(age)} old, allowed are ${limit}`;
}

/**
 * Whether the rule reads the customer: facts of the buyer, or a list that is filled from the ERP's
 * customers, which depends on the buyer's row as well.
 */
function readsCustomer({ reads }: Rule, { list_sources: sources }: Settings): boolean {
  const lists = new Set(Object.keys(sources).map((name) => `lists.${name}`));
  return reads.some((path) => path.startsWith('customer.') || lists.has(path));
}

/**
 * Says why this rule may never reject for lack of customer data; undefined when nothing is missing.
 */
export async function lackOfCustomers(
  tx: Tx,
  rule: Rule,
  settings: Settings,
): Promise<string | undefined> {
  if (!readsCustomer(rule, settings)) return undefined;
  const { all, timed } = await tx
    .selectFrom('erp_customer')
    .select(({ fn }) => [fn.countAll<number>().as('all'), fn.count<number>('as_of').as('timed')])
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow();
  if (all === 0) return 'the ERP has sent no customer yet: until then it rejects nothing';
  if (timed === all) return undefined;
  const some = `${all - timed} of ${all} customers of the ERP have no as_of`;
  return `${some}: rejects for these wait, and are never sent`;
}

const STOCK_FACTS = new Set(['delivery.lines.stock_free', 'delivery.lines.missing']);

type Asked = Pick<Candidate, 'subject' | 'ruleSet' | 'freshness' | 'now'>;

/** Names the data that is too old for this rule; undefined when none is. */
export async function notFresh(tx: Tx, rule: Rule, asked: Asked): Promise<string | undefined> {
  const { subject, now } = asked;
  const { settings } = asked.ruleSet;
  const { mirror, stock, credit } = settings.safeguards.freshness;
  const behind = await behindSince(tx);
  const lag =
    tooOld('the mirror', await heardAt(tx, now), mirror, now) ??
    (behind === undefined ? undefined : tooOld('an order to be read', behind, mirror, now));
  if (lag !== undefined) return lag;
  if (rule.reads.some((path) => STOCK_FACTS.has(path))) {
    const old = tooOld('the stock', await completeAt(tx, 'stock'), stock, now);
    if (old !== undefined) return old;
  }
  const waits = await tooOldFor(tx, asked, rule);
  if (waits !== undefined || !readsCustomer(rule, settings)) return waits;
  return tooOld(
    'the ERP’s row of the customer (as_of)',
    await customerAt(tx, subject),
    credit,
    now,
  );
}
