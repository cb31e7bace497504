/** One step of one row: it is cleared or looked for, and then sent, settled or put off. */
import { BugError, isStoreUnusable, RetryLaterError } from '../../lib/errors.ts';
import {
  type Clearance,
  type Finding,
  mayHaveMissed,
  type OutboxItem,
  type OutboxKind,
} from '../item.ts';
import { openSince, postpone } from '../ledger.ts';
import { wordsOf } from '../service.ts';
import { HELD_BY } from '../waiting.ts';
import { type Hand, paceOf, retryDelay, tellPutOff } from './hand.ts';
import { isPassing } from './looks.ts';
import { sendItem } from './send.ts';
import { type Look, settle } from './settle.ts';
import type { Policy, Settled } from './verdict.ts';

async function putOff(
  deps: Hand,
  kind: OutboxKind,
  item: OutboxItem,
  error: unknown,
): Promise<void> {
  const now = deps.clock.now();
  const { before, isHopeless } = deps.failedLooks.add(item, error);
  const isTooLate = async () =>
    now - (await openSince(deps.store.db, item)) >= deps.limits.deskAfterMs;
  if (isHopeless && (await isTooLate())) {
    const taken = item.result === null ? '' : 'the service answered that it took it; ';
    const others = isPassing(error) ? ', while others of its kind could' : '';
    const reason = `${taken}for too long it could not be looked for${others}: ${wordsOf(error)}`;
    const finding = { found: 'unclear', reason, detail: {} } as const;
    return settleItem(deps, kind, item, { finding, lookedAt: now });
  }
  const retryMs = retryDelay(deps, before, error);
  await postpone(deps.store, item, now + retryMs, wordsOf(error));
  tellPutOff(deps, item, error, retryMs);
}

/** Whether looks for it are of no use any more; those that may have missed it are counted. */
function isHopelessBy({ failedLooks }: Hand, item: OutboxItem, finding: Finding): boolean {
  if (mayHaveMissed(finding)) return failedLooks.add(item).isHopeless;
  failedLooks.end(item, finding.found === 'yes');
  return false;
}

function policyOf(deps: Hand, kind: OutboxKind, item: OutboxItem): Policy {
  const { attemptsMax, deskAfterMs } = deps.limits;
  return {
    ...{ attemptsMax, deskAfterMs, creates: kind.creates(item), pace: paceOf(deps) },
    watchedSince: deps.watchedSince(),
    conflictEnds: kind.conflictEnds === true,
    waitMs: retryDelay(deps, Math.max(0, item.attempts - 1)),
  };
}

function tell(deps: Hand, item: OutboxItem, { state, ended, reason }: Settled): void {
  if (state !== item.state || reason !== undefined) deps.onMoved(item, state);
  const fields = { outboxId: item.outboxId, reference: item.reference, state, reason };
  if (state === 'dead' || (!ended && reason !== undefined)) {
    deps.log.error(fields, 'push left to a person');
  } else if (ended) deps.log.info(fields, 'push settled');
  if (ended) deps.onEnded(item, state);
}

async function settleItem(
  deps: Hand,
  kind: OutboxKind,
  item: OutboxItem,
  { finding, lookedAt }: Omit<Look, 'isHopeless'>,
): Promise<void> {
  const look = { finding, lookedAt, isHopeless: isHopelessBy(deps, item, finding) };
  const settled = await settle(deps.store, deps.clock, item, look, policyOf(deps, kind, item));
  if (settled) tell(deps, item, settled);
}

const DRY_RUN = `${HELD_BY.dryRun}: it is fit and would be sent now`;

/** One step of one row: a look or a clearance, then what it leads to. Rejects with the database. */
export async function step(deps: Hand, item: OutboxItem, signal: AbortSignal): Promise<void> {
  const kind = deps.kinds.find((candidate) => candidate.kind === item.kind);
  if (!kind) throw new BugError('bug.outbox_kind', `no such outbox kind: ${item.kind}`);
  const lookedAt = deps.clock.now();
  let clearance: Clearance;
  try {
    clearance =
      item.state === 'queued'
        ? await kind.clear(item, signal)
        : { send: false, finding: await kind.look(item, signal) };
    if (clearance.send && deps.dryRun) throw new RetryLaterError('outbox.dry_run', DRY_RUN);
  } catch (error) {
    if (isStoreUnusable(error)) throw error;
    if (!signal.aborted) await putOff(deps, kind, item, error);
    return;
  }
  if (signal.aborted) return;
  if (!clearance.send) {
    deps.outages.over(item.outboxId);
    return settleItem(deps, kind, item, { finding: clearance.finding, lookedAt });
  }
  deps.failedLooks.end(item, false);
  const paused = deps.pausedReason(item.kind);
  // It was fit, and rests until nothing holds it any more; then it is checked again.
  if (paused !== undefined) return postpone(deps.store, item, deps.clock.now(), paused);
  const sent = await sendItem(deps, kind, item, clearance, signal);
  if (sent && !signal.aborted) await step(deps, sent, signal);
}
