/**
 * The daemon's side of the console: takes the requests of pages, checks the session's rights, and
 * acts through the same functions as the local API. Runs on the daemon's event loop and does
 * nothing but single transactions there.
 */
import type { Clock } from '../lib/clock.ts';
import { RefusedError, RetryLaterError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import type { Actor } from '../store/audit.ts';
import type { Store } from '../store/store.ts';
import type { Keep } from '../store/transaction/keep.ts';
import { type BoundAct, perform } from '../surface/perform.ts';
import { refusalOf } from '../surface/problem.ts';
import type { Entrance } from './access/entrance.ts';
import {
  auditSession,
  endSessions,
  findSession,
  type Session,
  sessionLabel,
  touchSession,
  viaOf,
} from './access/sessions.ts';
import type { Asker, Question, Reply } from './acts.ts';
import { type LookupDeps, lookUp } from './lookups.ts';

export interface AnswerDeps {
  readonly acts: readonly BoundAct[];
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly entrance: Entrance;
  readonly lookups: LookupDeps;
  readonly sessionIdleMs: number;
  /** Waited for after an act. Left out: its commit is enough. */
  readonly keep?: Keep | undefined;
}

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
      const value = await answer(question);
      const isDone = question.ask === 'perform' && !question.request.dryRun;
      const kept = isDone ? await deps.keep?.() : undefined;
      return kept === 'unknown' ? { value, isKeptHere: true } : { value };
    } catch (error) {
      const refused = refusalOf(error);
      if (refused) return { refused };
      log.error({ err: error, ask: question.ask }, 'console');
      const message = 'see the log of the daemon';
      return { refused: { status: 500, code: 'console.failed', message } };
    }
  };
}
