/**
 * The daemon's side of the console: takes the requests of pages, checks the session's rights, and
 * acts through the same functions as the local API. Runs on the daemon's event loop and does
 * nothing but single transactions there.
 */
import { actOnSelected } from '../decisions/review/bulk.ts';
import { deliveryIdOf } from '../decisions/review/deliveries.ts';
import { writeNote } from '../decisions/review/note.ts';
import type { Review, ReviewAnswer, ReviewRequest, Seen } from '../decisions/review/review.ts';
import type { Clock } from '../lib/clock.ts';
import { RefusedError, RetryLaterError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import type { OutboxReview } from '../outbox/review/operations.ts';
import type { Actor } from '../store/audit.ts';
import type { Store } from '../store/store.ts';
import { type BoundAct, perform } from '../surface/perform.ts';
import { refusalOf } from '../surface/problem.ts';
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
import type { Asker, BulkAct, Question, Reply, Wish } from './acts.ts';
import { type LookupDeps, lookUp } from './lookups.ts';
import { undoLatest } from './undo.ts';

export interface AnswerDeps {
  readonly acts: readonly BoundAct[];
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly entrance: Entrance;
  readonly review: Review;
  readonly outbox: OutboxReview;
  readonly lookups: LookupDeps;
  readonly sessionIdleMs: number;
}

const UNDONE = 'undone at the console';
const WRITES_MAX = 120;
const WRITES_MS = 60_000;

/** Limits the changes of a session per minute; an act on many deliveries counts once. */
function createWriteLimit(clock: Clock) {
  let windows = new Map<number, { readonly since: number; count: number }>();
  return (sessionId: number): void => {
    const now = clock.monotonic();
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

/** Open session that asks; throws when it was ended meanwhile. */
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

/** Request for a review act, still without its delivery. */
function requestOf(
  action: ReviewRequest['action'],
  { why, toRules, ifRejectWaits }: Pick<BulkAct, 'why' | 'toRules' | 'ifRejectWaits'>,
  actor: Actor,
) {
  return {
    ...actor,
    action,
    ifRejectWaits,
    ...(action === 'release' && { why: why ?? ('checked' as const), toRules }),
  };
}

async function reviewOne(
  { review }: AnswerDeps,
  wish: Extract<Wish, { do: 'review' }>,
  actor: Actor,
): Promise<unknown> {
  const { action, delivery, act } = wish;
  return review.act({
    ...requestOf(action, act, actor),
    delivery: `id:${delivery}`,
    confirmed: act.confirmed === undefined ? [] : [act.confirmed],
    seen: seenOf(act),
  });
}

async function reviewMany(
  { review }: AnswerDeps,
  { act, deliveries }: Extract<Wish, { do: 'bulk' }>,
  actor: Actor,
): Promise<{ readonly answers: readonly ReviewAnswer[] }> {
  const confirmed = act.confirmed?.split(/[\s,]+/) ?? [];
  const request = { ...requestOf(act.action, act, actor), confirmed };
  return { answers: await actOnSelected(review, request, deliveries) };
}

function needOf(wish: Wish): Act {
  if (wish.do === 'review') return `delivery.${wish.action}`;
  if (wish.do === 'bulk') return `delivery.${wish.act.action}`;
  if (wish.do === 'note') return 'delivery.note';
  return 'delivery.hold';
}

async function act(deps: AnswerDeps, session: Session, by: Asker, wish: Wish): Promise<unknown> {
  const { store, clock } = deps;
  requireRole(session.role, needOf(wish));
  const actor = (reason: string) => actorOf(session, by, reason);
  switch (wish.do) {
    case 'review':
      return reviewOne(deps, wish, actor(wish.act.reason));
    case 'bulk':
      return reviewMany(deps, wish, actor(wish.act.reason));
    case 'undo':
      // Undoing needs the right to hold, because it may revoke an accept.
      return undoLatest(deps, wish, actor(UNDONE));
    case 'note':
      await store.transaction(async (tx) => {
        const id = await deliveryIdOf(tx, `id:${wish.delivery}`);
        await writeNote(tx, id, wish.text, actor(wish.text), clock.now());
      });
      return {};
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
      case 'perform': {
        const { by, request } = question;
        const session = await sessionOf(deps, by);
        if (!request.dryRun) countWrite(session.sessionId);
        const actor = (reason: string) => actorOf(session, by, reason);
        return perform(deps.acts, request, { ...session, actor }, clock.now());
      }
      default:
        return lookUp(deps.lookups, question);
    }
  };
  return async (question) => {
    try {
      return { value: await answer(question) };
    } catch (error) {
      const refused = refusalOf(error);
      if (refused) return { refused };
      log.error({ err: error, ask: question.ask }, 'console');
      const message = 'see the log of the daemon';
      return { refused: { status: 500, code: 'console.failed', message } };
    }
  };
}
