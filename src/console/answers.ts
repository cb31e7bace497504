/**
 * The daemon's side of the console: takes what the pages ask, checks who asks, and acts through the
 * same functions as the local API. Runs on the daemon's loop and does nothing but single
 * transactions there.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { deliveryIdOf } from '../decisions/review/deliveries.ts';
import { BULK_MAX } from '../decisions/review/listing.ts';
import { writeNote } from '../decisions/review/note.ts';
import type { Review, ReviewAnswer, Seen } from '../decisions/review/review.ts';
import type { Clock } from '../lib/clock.ts';
import { RefusedError, RetryLaterError, SelvedgeError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import type { OutboxReview } from '../outbox/review/operations.ts';
import type { Actor } from '../store/audit.ts';
import type { Pauses } from '../store/pauses.ts';
import type { Store } from '../store/store.ts';
import type { Entrance } from './access/entrance.ts';
import { type Act, requireRole } from './access/roles.ts';
import {
  auditSession,
  endSessions,
  findSession,
  type Session,
  sessionLabel,
  touchSession,
  viaOf,
} from './access/sessions.ts';
import type { Asker, Question, Refusal, Reply, Wish } from './acts.ts';
import { lookUp, type OperationDeps, operate } from './operations/operate.ts';

export interface AnswerDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly entrance: Entrance;
  readonly review: Review;
  readonly outbox: OutboxReview;
  readonly pauses: Pick<Pauses, 'pause' | 'resume'>;
  readonly operations: OperationDeps;
  readonly sessionIdleMs: number;
}

const WRITES_MAX = 120;
const WRITES_MS = 60_000;

/** Rejects of one bulk act; each is final. */
const REJECTS_MAX = 20;

/** Counts the writes of a session; a bulk act is one. */
function createWriteLimit(clock: Clock) {
  let windows = new Map<number, { readonly since: number; count: number }>();
  return (sessionId: number): void => {
    const now = clock.now();
    const open = windows.get(sessionId);
    if (!open || open.since <= now - WRITES_MS) {
      windows = new Map([...windows].filter(([, { since }]) => since > now - WRITES_MS));
      windows.set(sessionId, { since: now, count: 1 });
      return;
    }
    open.count += 1;
    if (open.count <= WRITES_MAX) return;
    const message = `more than ${WRITES_MAX} changes in a minute`;
    throw new RetryLaterError('console.rate', message, { hint: 'try again in a minute' });
  };
}

/** The open session that asks; one that was ended meanwhile may do nothing more. */
async function sessionOf(
  { store, clock, sessionIdleMs }: AnswerDeps,
  { sessionId }: Asker,
): Promise<Session> {
  const idle = { now: clock.now(), idleMs: sessionIdleMs };
  const session = await findSession(store.db, { sessionId }, idle);
  if (session) return session;
  throw new RefusedError('console.no_session', 'the session has ended', { hint: 'sign in again' });
}

function actorOf(session: Session, { address }: Asker, reason: string): Actor {
  const actor = session.way === 'token' ? `token:${session.name}` : session.name;
  return { actor, reason, via: viaOf(session, address) };
}

function seenOf({
  decisionId,
  contentHash,
}: Pick<Seen, 'contentHash'> & { decisionId: number }): Seen {
  return { decisionId: decisionId === 0 ? null : decisionId, contentHash };
}

async function reviewOne(
  { review }: AnswerDeps,
  wish: Extract<Wish, { do: 'review' }>,
  actor: Actor,
): Promise<unknown> {
  const { action, delivery, act } = wish;
  const { why } = act;
  return review.act({
    ...actor,
    action,
    delivery: `id:${delivery}`,
    confirmed: act.confirmed === undefined ? [] : [act.confirmed],
    seen: seenOf(act),
    ...(action === 'release' && { why: why ?? 'checked', toRules: true }),
  });
}

/** Deliveries between two turns of the loop. */
const SLICE = 10;

async function reviewMany(
  { review }: AnswerDeps,
  { act, deliveries }: Extract<Wish, { do: 'bulk' }>,
  actor: Actor,
): Promise<{ readonly answers: readonly ReviewAnswer[] }> {
  const { action, why } = act;
  const max = action === 'reject' ? REJECTS_MAX : BULK_MAX;
  if (deliveries.length > max) {
    const message = `${deliveries.length} deliveries at once are more than ${max}`;
    throw new RefusedError('console.too_many', message, { hint: 'narrow the filter' });
  }
  const answers: ReviewAnswer[] = [];
  const request = {
    ...actor,
    action,
    confirmed: act.confirmed?.split(/[\s,]+/) ?? [],
    ...(action === 'release' && { why: why ?? ('checked' as const), toRules: true }),
  };
  for (let start = 0; start < deliveries.length; start += SLICE) {
    const part = deliveries.slice(start, start + SLICE);
    const ids = part.map(({ orderDeliveryId }) => `id:${orderDeliveryId}`);
    const seen = part.map(({ decisionId, contentHash }) => ({ decisionId, contentHash }));
    answers.push(...(await review.actOnAll(request, ids, seen)));
    await nextTurn();
  }
  return { answers };
}

const REASON = 'undone at the console';

/**
 * Undoes the latest act of a person about a delivery, where that is true: an accept that was not
 * sent is called back, one that was sent is revoked; a hold and a release go back to the rules.
 */
async function undo(
  deps: AnswerDeps,
  { delivery, decisionId }: Extract<Wish, { do: 'undo' }>,
  session: Session,
  by: Asker,
): Promise<unknown> {
  const { review, outbox, store } = deps;
  const latest = await store.db
    .selectFrom('evaluation as e')
    .innerJoin('decision as d', 'd.decision_id', 'e.decision_id')
    .leftJoin('outbox as o', 'o.decision_id', 'd.decision_id')
    .select(['d.decision_id', 'd.actor', 'd.outcome', 'o.outbox_id', 'o.state'])
    .where('e.order_delivery_id', '=', delivery)
    .executeTakeFirst();
  const { actor: name } = actorOf(session, by, REASON);
  if (latest?.decision_id !== decisionId || latest.actor !== `person:${name}`) {
    const hint = 'look at the delivery: it was decided again, or by somebody else';
    throw new RefusedError('console.undo', 'there is nothing to undo any more', { hint });
  }
  if (latest.outcome === 'reject') {
    const hint = 'a new delivery comes when the order is packed again';
    throw new RefusedError('console.undo', 'a reject is final and cannot be undone', { hint });
  }
  const actor = actorOf(session, by, REASON);
  const id = `id:${delivery}`;
  if (latest.outcome === 'accept' && latest.outbox_id !== null) {
    requireRole(session.role, 'delivery.hold');
    if (latest.state === 'sending' || latest.state === 'sent' || latest.state === 'in_doubt') {
      const message = 'its push is on its way';
      throw new RetryLaterError('console.undo', message, { hint: 'try again in a moment' });
    }
    if (latest.state === 'queued') await outbox.cancel({ outboxId: latest.outbox_id }, actor);
    return review.act({ ...actor, action: 'hold', delivery: id });
  }
  const why = 'other' as const;
  if (latest.outcome === 'hold') {
    return review.act({ ...actor, action: 'release', delivery: id, why, toRules: true });
  }
  return review.act({ ...actor, action: 'hold', delivery: id });
}

function needOf(wish: Wish): Act {
  if (wish.do === 'review') return `delivery.${wish.action}`;
  if (wish.do === 'bulk') return `delivery.${wish.act.action}`;
  if (wish.do === 'outbox') return `outbox.${wish.action}`;
  if (wish.do === 'note') return 'delivery.note';
  return wish.do === 'undo' ? 'delivery.hold' : wish.do;
}

async function act(deps: AnswerDeps, session: Session, by: Asker, wish: Wish): Promise<unknown> {
  const { store, clock, outbox, pauses } = deps;
  requireRole(session.role, needOf(wish));
  const actor = (reason: string) => actorOf(session, by, reason);
  switch (wish.do) {
    case 'review':
      return reviewOne(deps, wish, actor(wish.act.reason));
    case 'bulk':
      return reviewMany(deps, wish, actor(wish.act.reason));
    case 'undo':
      return undo(deps, wish, session, by);
    case 'note':
      await store.transaction(async (tx) => {
        const id = await deliveryIdOf(tx, `id:${wish.delivery}`);
        await writeNote(tx, id, wish.text, actor(wish.text), clock.now());
      });
      return {};
    case 'outbox': {
      const { action, outboxId, reason } = wish;
      if (action === 'retry' || action === 'cancel') {
        return outbox[action]({ outboxId }, actor(reason));
      }
      return outbox.resolve(outboxId, { as: action }, actor(reason));
    }
    case 'pause':
    case 'resume':
      return pauses[wish.do]({ target: wish.target, name: wish.name }, actor(wish.reason));
    default:
      return operate(deps.operations, wish, actor(wish.reason));
  }
}

async function signOut(deps: AnswerDeps, session: Session, by: Asker, everywhere: boolean) {
  const { store, clock } = deps;
  const now = clock.now();
  const which = everywhere
    ? { name: session.name, ways: ['link', 'password', 'proxy'] as const }
    : { sessionId: session.sessionId };
  await store.transaction(async (tx) => {
    const ended = await endSessions(tx, which, session.name, now);
    const who = actorOf(session, by, '');
    const label = sessionLabel(session);
    await auditSession(tx, 'console.sign_out', who, label, { everywhere, ended }, now);
  });
}

const STATUSES: Readonly<Record<string, number>> = {
  'console.role': 403,
  'console.no_session': 401,
  'console.password': 401,
  'console.proxy': 403,
  'console.link': 410,
  'console.tries': 429,
  'console.busy': 429,
  'console.rate': 429,
  'deliveries.unknown': 404,
  'outbox.unknown': 404,
  'events.unknown': 404,
  'sync.unknown_stream': 404,
  'sync.unknown_run': 404,
  'rules.no_reject_rule': 404,
};

function refusalOf(error: SelvedgeError): Refusal {
  const { code, message, hint } = error;
  return { status: STATUSES[code] ?? 409, code, message, hint };
}

export function createAnswers(deps: AnswerDeps): (question: Question) => Promise<Reply> {
  const { store, clock, entrance, log } = deps;
  const countWrite = createWriteLimit(clock);
  const answer = async (question: Question): Promise<unknown> => {
    switch (question.ask) {
      case 'beat':
        return {};
      case 'link':
        return entrance.byLink(question.key, question.address);
      case 'password':
        return entrance.byPassword(question.name, question.password, question.address);
      case 'proxied':
        return entrance.byProxy(question.name, question.address);
      case 'ways':
        return { hasPasswords: entrance.hasPasswords() };
      case 'touch':
        await store.transaction((tx) => touchSession(tx, question.sessionId, clock.now()));
        return {};
      case 'signOut': {
        const session = await sessionOf(deps, question.by);
        await signOut(deps, session, question.by, question.everywhere);
        return {};
      }
      case 'act': {
        const session = await sessionOf(deps, question.by);
        countWrite(session.sessionId);
        return act(deps, session, question.by, question.wish);
      }
      default:
        return lookUp(deps.operations, question);
    }
  };
  return async (question) => {
    try {
      return { value: await answer(question) };
    } catch (error) {
      if (error instanceof SelvedgeError) return { refused: refusalOf(error) };
      log.error({ err: error, ask: question.ask }, 'console');
      const message = 'see the log of the daemon';
      return { refused: { status: 500, code: 'console.failed', message } };
    }
  };
}
