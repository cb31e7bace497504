/**
 * The review queue's actions: a person accepts, rejects, holds or releases a delivery. Each action
 * is one transaction of journal entry, audit row, manual decision (`review`) and, if the delivery's
 * status must change in the service, the push. From then on the rules leave the delivery alone
 * until its lines change; a reject of it that waited is stopped.
 *
 * An action that makes no sense is refused with a RefusedError and changes nothing: on a delivery
 * that is final, on one with a push on its way, a reject without its number. Whether the service
 * agrees shows later, in the push.
 */
import type { Clock } from '../../lib/clock.ts';
import { RefusedError } from '../../lib/errors.ts';
import { formatDuration } from '../../lib/units.ts';
import { type DeliveryStatus, enqueueDeliveryStatus } from '../../outbox/enqueue.ts';
import { type Actor, writeAudit } from '../../store/audit.ts';
import type { Store, Tx } from '../../store/store.ts';
import { noteExternal } from '../external.ts';
import { readSubject, type Subject, UnknownStatus } from '../facts.ts';
import { resolveEvaluationErrors } from '../incidents.ts';
import { recordDecision, writeReview } from '../journal.ts';
import { askRules } from '../judgement.ts';
import { endRestoredStop } from '../plan/precautions.ts';
import { openPush } from '../push.ts';
import { endEntry, latestEntry } from '../reject/queue.ts';
import type { LoadedRuleSet } from '../rule-files.ts';
import { deliveryIdOf } from './deliveries.ts';
import { deliveryState } from './state.ts';

export type ReviewAction = 'accept' | 'reject' | 'hold' | 'release';

export interface ReviewRequest extends Actor {
  readonly action: ReviewAction;
  /** Id or number of the delivery. */
  readonly delivery: string;
  /** Reason of a release; other actions have none. */
  readonly why?: string | undefined;
  /** For a release: the rules decide again, as if no person had decided. */
  readonly toRules?: boolean | undefined;
  /** For a hold: it is refused unless a reject waits, which the hold stops. */
  readonly ifRejectWaits?: boolean | undefined;
  /**
   * For a reject: the delivery numbers that the person typed as confirmation; `later`: a preview
   * before that.
   */
  readonly confirmed?: readonly string[] | 'later' | undefined;
  /** Version of the delivery that the person saw; the action is refused if it has changed since. */
  readonly seen?: Seen | undefined;
}

/** Version of a delivery that a person saw. */
interface Seen {
  /** Id of the delivery's latest decision; null: there is none yet. */
  readonly decisionId: number | null;
  /** Hash of its content; left out: the content may be another. */
  readonly contentHash?: string;
}

export interface Reviewed {
  readonly orderDeliveryId: number;
  readonly deliveryNo: string;
  readonly decisionId: number;
  /** Id of the push to the service; null when the delivery's status need not change. */
  readonly outboxId: number | null;
  /** State of the delivery in words: nothing is done that the service has yet to confirm. */
  readonly state: string;
  /** Reason why the service may refuse the push all the same. */
  readonly doubt?: string;
}

/** Effect that an action would have. */
export interface ReviewPreview {
  readonly orderDeliveryId: number;
  readonly deliveryNo: string;
  readonly status: string;
  readonly pieces: number | null;
  /** Outcome by the rules in force. */
  readonly byRules: string;
  /** Status that the service would be told; undefined: it need not hear of it. */
  readonly to: DeliveryStatus | undefined;
  readonly doubt?: string;
  readonly seen: Required<Seen>;
}

export interface ReviewDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly rules: () => LoadedRuleSet;
  /** Called after a push was put into the outbox. */
  readonly onPush: () => void;
  /** Called after each action, because a delivery may have become due. */
  readonly onReviewed: () => void;
}

export interface Review {
  act(request: ReviewRequest): Promise<Reviewed>;
  /** Checks an action as {@link act} does, without doing it. */
  preview(request: Omit<ReviewRequest, 'seen'>): Promise<ReviewPreview>;
}

const OUTCOME = { accept: 'accept', reject: 'reject', hold: 'hold', release: 'release' } as const;

/** Status that the delivery must get in the service; undefined if it need not change. */
function wantedStatus(action: ReviewAction, status: string): DeliveryStatus | undefined {
  if (action === 'accept') return 'accepted';
  if (action === 'reject') return 'rejected';
  return action === 'hold' && status === 'accepted' ? 'pending' : undefined;
}

function refuse(code: string, message: string, hint?: string): never {
  throw new RefusedError(`review.${code}`, message, { hint });
}

function checkStatus({ action }: ReviewRequest, delivery: Subject['delivery']) {
  const { order_delivery_id: id, status, changed_at } = delivery;
  if (status === 'pending' || (action === 'hold' && status === 'accepted')) return;
  const final = status === 'rejected' || status === 'canceled';
  const hint = final
    ? 'that is final; a new delivery comes when the order is packed again'
    : `selvedge deliveries hold ${id} --reason "…" revokes it, as long as it has not shipped`;
  const since = new Date(changed_at).toISOString();
  refuse('status', `it is ${status} already, unchanged since ${since}`, hint);
}

/**
 * Warns that the delivery may have shipped. A tracking number does not prove that the goods have
 * left, so it never forbids the action; the service knows, and refuses to revoke what has shipped.
 */
function doubtAbout(to: DeliveryStatus, { tracking_numbers }: Subject['delivery']) {
  if (to !== 'pending' || tracking_numbers === '[]') return {};
  return { doubt: 'it has a tracking number: if it has shipped, the service refuses' };
}

function checkConfirmed({ action, confirmed }: ReviewRequest, number: string): void {
  if (action !== 'reject' || confirmed === 'later' || confirmed?.includes(number)) return;
  refuse(
    'unconfirmed',
    'a reject is final and wants the delivery number',
    `--yes-reject ${number}`,
  );
}

function latestDecision(tx: Tx, orderDeliveryId: number) {
  return tx
    .selectFrom('evaluation as e')
    .innerJoin('decision as d', 'd.decision_id', 'e.decision_id')
    .select(['d.decision_id', 'd.actor', 'd.outcome', 'd.at'])
    .where('e.order_delivery_id', '=', orderDeliveryId)
    .executeTakeFirst();
}
type Latest = Awaited<ReturnType<typeof latestDecision>>;

/**
 * Refuses an action on a delivery that changed since the person saw it: the second of two people
 * who act on it hears of the first.
 */
function checkSeen({ seen }: ReviewRequest, { delivery }: Subject, latest: Latest, now: number) {
  if (seen === undefined) return;
  const hint = 'look at it again, and then decide';
  if (latest !== undefined && latest.decision_id !== seen.decisionId) {
    const by = latest.actor.replace(/^person:/, '').replace(/^daemon$/, 'the rules');
    const ago = formatDuration(Math.max(0, now - latest.at));
    refuse('changed', `${by} decided "${latest.outcome}" ${ago} ago`, hint);
  }
  const { contentHash } = seen;
  if (contentHash === undefined || contentHash === delivery.content_hash) return;
  refuse('changed', 'the delivery has changed at the service', hint);
}

async function checkNoPush(tx: Tx, orderDeliveryId: number): Promise<void> {
  const open = await openPush(tx, orderDeliveryId);
  if (!open) return;
  const message = `push ${open.outbox_id} of it is ${open.state}`;
  const call = `selvedge outbox cancel ${open.outbox_id} --reason "…"`;
  const hint = `once the service has answered, or after: ${call}`;
  refuse('push_open', message, hint);
}

/** Refuses a release unless a rule, a safeguard or a person holds the delivery. */
function checkHeld({ action }: ReviewRequest, latest: Latest): void {
  if (action !== 'release' || latest?.outcome === 'hold') return;
  const hint =
    'selvedge deliveries list --held shows what is held; what a person has decided goes back to ' +
    'the rules by "hold", and then "release --to-rules"';
  refuse('not_held', 'nothing holds it', hint);
}

/**
 * Refuses a hold that is meant to stop a reject when no reject waits: it would hold another
 * delivery by mistake.
 */
async function checkRejectWaits(tx: Tx, { ifRejectWaits }: ReviewRequest, id: number) {
  if (ifRejectWaits !== true || (await latestEntry(tx, id))?.state === 'waiting') return;
  refuse('no_reject', 'no reject waits for it', 'selvedge rules queue shows what waits');
}

async function remember(
  tx: Tx,
  request: ReviewRequest,
  subject: Subject,
  decisionId: number,
  at: number,
) {
  const { action, actor, reason, why = null, via } = request;
  const { order_delivery_id: id } = subject.delivery;
  await endRestoredStop(tx, id);
  if (request.toRules === true) {
    await tx.deleteFrom('review').where('order_delivery_id', '=', id).execute();
    await tx
      .updateTable('evaluation')
      .set({ due_at: at, due_why: 'manual' })
      .where('order_delivery_id', '=', id)
      .execute();
  } else {
    await writeReview(tx, subject, { action, at, actor, reason, why, decision_id: decisionId });
  }
  const act = { action: `delivery.${action}`, subject: `delivery:${id}` };
  const { number } = subject.facts.delivery;
  const detail = { number, decisionId, why, toRules: request.toRules === true };
  await writeAudit(tx, { actor, reason, via, ...act, detail }, at);
}

/** Evaluates the rules for the delivery, to journal their result beside the person's decision. */
async function judge(tx: Tx, deps: ReviewDeps, request: ReviewRequest, id: number, at: number) {
  const rules = deps.rules();
  const { ruleSet } = rules;
  const { settings, rules: read } = ruleSet;
  const subject = await readSubject(tx, id, { now: at, settings, rules: read });
  if (!subject) return refuse('no_order', 'its order is not mirrored yet', 'try again shortly');
  const mode = 'live' as const;
  const asked = await askRules(tx, { rules, mode, now: at }, subject);
  const kind = OUTCOME[request.action];
  const outcome = { kind, reason: request.reason, rules: [] } as const;
  return { rules, mode, subject, ...asked, outcome, at, dueAt: null };
}

/** Finds the delivery and refuses what makes no sense; writes what others did before. */
async function check(deps: ReviewDeps, tx: Tx, request: ReviewRequest) {
  const at = deps.clock.now();
  const orderDeliveryId = await deliveryIdOf(tx, request.delivery);
  // An external change that is journaled after this decision would override it, so it comes first.
  await noteExternal(tx, { rules: deps.rules(), mode: 'live', now: at }, orderDeliveryId);
  const judgement = await judge(tx, deps, request, orderDeliveryId, at);
  const { delivery, facts } = judgement.subject;
  const latest = await latestDecision(tx, orderDeliveryId);
  checkSeen(request, judgement.subject, latest, at);
  checkStatus(request, delivery);
  checkConfirmed(request, facts.delivery.number);
  await checkNoPush(tx, orderDeliveryId);
  checkHeld(request, latest);
  await checkRejectWaits(tx, request, orderDeliveryId);
  return { judgement, latest, at };
}

async function act(deps: ReviewDeps, tx: Tx, request: ReviewRequest): Promise<Reviewed> {
  const { action, actor } = request;
  const { judgement, at } = await check(deps, tx, request);
  const { delivery, facts } = judgement.subject;
  const { number: deliveryNo } = facts.delivery;
  const orderDeliveryId = delivery.order_delivery_id;
  await endEntry(tx, orderDeliveryId, { state: 'stopped', by: actor, detail: request.reason, at });
  const by = { actor: `person:${actor}`, trigger: 'person' };
  const decisionId = await recordDecision(tx, judgement, by);
  await remember(tx, request, judgement.subject, decisionId, at);
  // The rules may never evaluate this delivery again, so its evaluation error ends here.
  await resolveEvaluationErrors(tx, [orderDeliveryId], at);
  const to = wantedStatus(action, delivery.status);
  const told = to === undefined ? null : 'queued';
  const shipped = delivery.tracking_numbers !== '[]';
  const decided = { status: delivery.status, shipped, outcome: OUTCOME[action], push: told };
  const state = deliveryState(decided);
  const reviewed = { orderDeliveryId, deliveryNo, decisionId, state };
  if (to === undefined) return { ...reviewed, outboxId: null };
  const { order_id: orderId, status: from, content_hash: contentHash } = delivery;
  const change = { orderId, orderDeliveryId, from, to, decisionId };
  // A reject is meant for exactly the content that the person saw, an accept for these lines.
  const only = action === 'reject' ? { contentHash } : { onlyTheseLines: action === 'accept' };
  const outboxId = await enqueueDeliveryStatus(tx, { ...change, ...only }, at);
  return { ...reviewed, outboxId, ...doubtAbout(to, delivery) };
}

/** Pieces of all lines; null: a quantity is not known. */
function piecesIn(
  lines: readonly { readonly quantity?: number | null | undefined }[],
): number | null {
  let sum = 0;
  for (const { quantity } of lines) {
    if (typeof quantity !== 'number') return null;
    sum += quantity;
  }
  return sum;
}

async function previewOf(deps: ReviewDeps, tx: Tx, request: ReviewRequest): Promise<ReviewPreview> {
  const { judgement, latest } = await check(deps, tx, request);
  const { subject, evaluation } = judgement;
  const { delivery, facts } = subject;
  const to = wantedStatus(request.action, delivery.status);
  return {
    orderDeliveryId: delivery.order_delivery_id,
    deliveryNo: facts.delivery.number,
    status: delivery.status,
    pieces: piecesIn(facts.delivery.lines),
    byRules: evaluation.live.kind,
    to,
    ...(to && doubtAbout(to, delivery)),
    seen: { decisionId: latest?.decision_id ?? null, contentHash: delivery.content_hash },
  };
}

/** Runs the work in a transaction that is taken back, so that it changes nothing. */
async function withoutChange<T>(store: Store, work: (tx: Tx) => Promise<T>): Promise<T> {
  const done: T[] = [];
  const takenBack = new Error('taken back');
  await store
    .transaction(async (tx) => {
      done.push(await work(tx));
      throw takenBack;
    })
    .catch((thrown: unknown) => {
      if (thrown !== takenBack) throw thrown;
    });
  const [found] = done;
  if (found !== undefined) return found;
  throw takenBack;
}

/** A refusal in place of the error for a status that the service newly has. */
function unknownStatus(thrown: unknown): never {
  if (!(thrown instanceof UnknownStatus)) throw thrown;
  return refuse('unknown_status', thrown.message);
}

export function createReview(deps: ReviewDeps): Review {
  const { store } = deps;
  return {
    async act(request) {
      const work = (tx: Tx) => act(deps, tx, request);
      const reviewed = await store.transaction(work).catch(unknownStatus);
      if (reviewed.outboxId !== null) deps.onPush();
      deps.onReviewed();
      return reviewed;
    },
    preview: (request) =>
      withoutChange(store, (tx) => previewOf(deps, tx, request)).catch(unknownStatus),
  };
}
