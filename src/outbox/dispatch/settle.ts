/**
 * Where a finding leads (docs/mechanisms.md, "A push"): found means confirmed; several, one that is
 * not like ours, or no proof within a day is for a person; absence is told in `absence.ts`.
 */
import type { Clock } from '../../lib/clock.ts';
import { isJsonObject, type JsonObject, tryParseJson } from '../../lib/json.ts';
import { openIncident } from '../../store/incidents.ts';
import type { Store, Tx } from '../../store/store.ts';
import { type Finding, mayHaveMissed, type OutboxItem } from '../item.ts';
import { move } from '../ledger.ts';
import { DIFFERENCE } from '../watch/differences.ts';
import { verdictOfAbsence } from './absence.ts';
import { learnLateness, quietTime } from './quiet-time.ts';
import {
  beginDoubt,
  desk,
  ended,
  lookAgain,
  lookAgainOrDesk,
  type Policy,
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

/** It is there, but not as it was sent: nothing to repeat, something to know. */
async function tellDifferences(
  tx: Tx,
  { outboxId, kind, reference }: OutboxItem,
  differences: readonly string[],
  now: number,
): Promise<void> {
  if (differences.length === 0) return;
  const resolve = `selvedge outbox resolve ${outboxId} --as noted --reason "…"`;
  const hint = `compare: selvedge outbox show ${outboxId}; then: ${resolve}`;
  const detail = { kind, reference, differences, hint };
  const incident = { ...DIFFERENCE, key: String(outboxId), detail };
  await openIncident(tx, incident, now);
}

/** What the answer told, and where it left something open what the look has shown of it. */
function resultOf({ result }: OutboxItem, shown: JsonObject): string {
  const answer = tryParseJson(result ?? '');
  const told = Object.entries(isJsonObject(answer) ? answer : {}).filter(
    ([, value]) => value !== null && !(Array.isArray(value) && value.length === 0),
  );
  return JSON.stringify({ ...shown, ...Object.fromEntries(told) });
}

async function verdictOf(
  tx: Tx,
  item: OutboxItem,
  { finding, isHopeless }: Look,
  policy: Policy,
  now: number,
): Promise<Verdict> {
  switch (finding.found) {
    case 'yes': {
      const { result } = finding;
      const known = result ? { result: resultOf(item, result) } : {};
      const orderId = result?.orderId;
      const order = typeof orderId === 'number' ? { order_id: orderId } : {};
      return ended('confirmed', now, undefined, { last_error: null, ...known, ...order });
    }
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
      found: found === 'overtaken' ? 'unclear' : found,
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
      await tellDifferences(tx, item, finding.differences ?? [], now);
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
    return isOurs ? { state, ...rest } : undefined;
  });
}
