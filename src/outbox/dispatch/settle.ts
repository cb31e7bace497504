/**
 * Where a finding leads (docs/mechanisms.md, "A push"): found means confirmed; several, one that is
 * not like ours, or no proof within a day is for a person; absence is told in `absence.ts`.
 */

import type { Clock } from '../../lib/clock.ts';
import { isJsonObject, type JsonObject, tryParseJson } from '../../lib/json.ts';
import type { Store, Tx } from '../../store/store.ts';
import { candidatesIn } from '../desk/candidates.ts';
import { claimsOf } from '../evidence/claims.ts';
import { learnSpelling } from '../evidence/known-spellings.ts';
import { noteSeasonShown } from '../evidence/seasons.ts';
import { type Finding, mayHaveMissed, type OutboxItem } from '../item.ts';
import { move } from '../ledger.ts';
import { tellDifferences } from '../watch/differences.ts';
import { verdictOfAbsence } from './absence.ts';
import { learnLateness, quietTime } from './quiet-time.ts';
import {
  beginDoubt,
  desk,
  ended,
  lookAgain,
  lookAgainOrDesk,
  type Policy,
  quietSince,
  type Settled,
  type Verdict,
} from './verdict.ts';

export interface Look {
  readonly finding: Finding;
  /** When it began: what it found absent was absent then. */
  readonly lookedAt: number;
  /** It may have missed it, and looking once more will not tell more. */
  readonly isHopeless: boolean;
}

type Found = Extract<Finding, { readonly found: 'yes' }>;

/** What the answer told, and where it left something open what the look has shown of it. */
function resultOf({ result }: OutboxItem, shown: JsonObject): string {
  const answer = tryParseJson(result ?? '');
  const told = Object.entries(isJsonObject(answer) ? answer : {}).filter(
    ([, value]) => value !== null && !(Array.isArray(value) && value.length === 0),
  );
  return JSON.stringify({ ...shown, ...Object.fromEntries(told) });
}

async function verdictOfFound(
  tx: Tx,
  item: OutboxItem,
  { result, shownReference }: Found,
  now: number,
): Promise<Verdict> {
  const orderId = result?.orderId;
  const known = result ? { result: resultOf(item, result) } : {};
  const shown = shownReference === undefined ? {} : { shown_reference: shownReference };
  const change = { last_error: null, ...known, ...shown };
  if (typeof orderId !== 'number') return ended('confirmed', now, undefined, change);
  const claims = item.kind === 'order' ? await claimsOf(tx, [orderId], item.outboxId) : undefined;
  const other = claims?.get(orderId);
  if (!other) return ended('confirmed', now, undefined, { ...change, order_id: orderId });
  const whose = `what outbox ${other.outboxId} (${other.reference}) has become`;
  return desk(item, now, `order ${orderId} is ${whose}`);
}

/** What an answered document teaches: how references are shown, and whether pre-orders are. */
async function learn(
  tx: Tx,
  { kind, reference, result }: OutboxItem,
  { shownReference, seasonSeen }: Found,
  now: number,
): Promise<void> {
  if (seasonSeen === true) await noteSeasonShown(tx, now);
  // One that was looked for was found by what is known already.
  if (result === null || shownReference === undefined) return;
  await learnSpelling(tx, kind, { sent: reference, shown: shownReference }, now);
}

/** Orders that may be it, as long as nobody knows. */
async function keepCandidates(
  tx: Tx,
  { outboxId, kind }: OutboxItem,
  finding: Finding,
): Promise<void> {
  if (kind !== 'order') return;
  await tx.deleteFrom('outbox_candidate').where('outbox_id', '=', outboxId).execute();
  if (finding.found !== 'maybe' && finding.found !== 'unclear') return;
  const { orderIds } = candidatesIn([JSON.stringify(finding)]);
  const rows = orderIds.map((orderId) => ({ order_id: orderId, outbox_id: outboxId }));
  if (rows.length > 0) await tx.insertInto('outbox_candidate').values(rows).execute();
}

async function verdictOf(
  tx: Tx,
  item: OutboxItem,
  { finding, isHopeless }: Look,
  policy: Policy,
  now: number,
): Promise<Verdict> {
  switch (finding.found) {
    case 'yes':
      return verdictOfFound(tx, item, finding, now);
    case 'overtaken':
      return ended('refused', now, finding.reason);
    case 'unfit': {
      const problems = JSON.stringify(finding.problems);
      const errors = finding.problems.filter(({ severity }) => severity === 'error');
      const reason = errors
        .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
        .join('; ');
      return ended('refused', now, reason, { problems });
    }
    case 'unclear':
      return desk(item, now, finding.reason);
    case 'maybe':
      return now < quietSince(item, policy, now) + policy.pace.quietMs
        ? lookAgain(item, policy, now)
        : desk(item, now, finding.reason);
    case 'no':
      if (mayHaveMissed(finding)) {
        return isHopeless ? lookAgainOrDesk(item, policy, now) : lookAgain(item, policy, now);
      }
      // Looked at once more: an answer may come from a copy that lags behind.
      if (item.state === 'sent') return beginDoubt(now, policy.waitMs);
      return verdictOfAbsence(tx, item, policy, now);
  }
}

async function storeEvidence(
  tx: Tx,
  item: OutboxItem,
  finding: Exclude<Finding, { readonly found: 'unfit' }>,
  lookedAt: number,
): Promise<void> {
  const { found } = finding;
  await tx
    .insertInto('outbox_evidence')
    .values({
      outbox_id: item.outboxId,
      at: lookedAt,
      source: 'look-up',
      found: found === 'overtaken' || found === 'maybe' ? 'unclear' : found,
      detail: JSON.stringify(finding),
      complete: Number(!mayHaveMissed(finding)),
    })
    .execute();
}

/**
 * Whether the row is still in the doubt, or on the try, that was looked at: one that a person had
 * sent again meanwhile has a doubt of its own, of which an older item knows nothing.
 */
async function isAsLookedAt(tx: Tx, item: OutboxItem): Promise<boolean> {
  const row = await tx
    .selectFrom('outbox')
    .select(['state', 'attempts', 'in_doubt_since'])
    .where('outbox_id', '=', item.outboxId)
    .executeTakeFirst();
  const { state, attempts, inDoubtSince } = item;
  return row?.state === state && row.attempts === attempts && row.in_doubt_since === inDoubtSince;
}

/**
 * Stores what was found and moves the row to where the finding leads. Undefined: somebody else
 * moved the row meanwhile.
 */
export async function settle(
  store: Store,
  clock: Clock,
  item: OutboxItem,
  look: Look,
  policy: Policy,
): Promise<Settled | undefined> {
  const { finding, lookedAt } = look;
  return store.transaction(async (tx) => {
    const now = clock.now();
    const quietMs = await quietTime(tx, policy.pace.quietMs);
    const own = { ...policy, pace: { ...policy.pace, quietMs } };
    if (!(await isAsLookedAt(tx, item))) return undefined;
    if (finding.found !== 'unfit') await storeEvidence(tx, item, finding, lookedAt);
    if (finding.found === 'yes') {
      await learnLateness(tx, item, { clock, watchedSince: policy.watchedSince });
    }
    const { state, change, ...rest } = await verdictOf(tx, item, look, own, now);
    let from: OutboxItem = item;
    // An answered push that was overtaken goes through doubt: no other way leads there.
    if (item.state === 'sent' && state === 'refused') {
      await move(tx, item, 'in_doubt', { in_doubt_since: now });
      from = { ...item, state: 'in_doubt' };
    }
    const { reason } = rest;
    const error = reason === undefined ? {} : { last_error: reason };
    const isOurs = await move(tx, from, state, { ...change, ...error });
    if (!isOurs) return undefined;
    await keepCandidates(tx, item, finding);
    if (finding.found === 'yes' && state === 'confirmed') {
      await learn(tx, item, finding, now);
      const { differences = [], holds = false, seasonSeen, result } = finding;
      const found = { differences, holds, isSeasonUnseen: seasonSeen === false };
      await tellDifferences(tx, item, { ...found, orderId: result?.orderId ?? null }, now);
    }
    return { state, ...rest };
  });
}
