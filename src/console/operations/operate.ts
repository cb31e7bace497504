/**
 * The daemon's side of the pages about pulls, events and the system: acts through the functions
 * that the command line uses, and answers what only the daemon knows.
 */
import { RefusedError } from '../../lib/errors.ts';
import type { Actor } from '../../store/audit.ts';
import type { SyncOperations } from '../../sync/operations.ts';
import type { People } from '../access/entrance.ts';
import { operateRules, type RuleOperations } from './rules.ts';
import type { Lookup, OperationWish } from './wishes.ts';

export interface OperationDeps {
  readonly sync: SyncOperations;
  readonly rules: RuleOperations;
  /** Counters of the event listener since the daemon started, such as refused events by reason. */
  readonly inbox: () => unknown;
  readonly people: () => People;
  /** Findings of the doctor's checks that do without the network. */
  readonly doctor: () => Promise<readonly unknown[]>;
  /** Ends a session or a token; throws RefusedError where none is open. */
  readonly endSession: (sessionId: number, who: Actor) => Promise<void>;
}

export async function operate(
  { rules, endSession }: OperationDeps,
  wish: OperationWish,
  actor: Actor,
): Promise<unknown> {
  switch (wish.do) {
    case 'session.end':
      await endSession(wish.sessionId, actor);
      return {};
    default:
      return operateRules(rules, wish, actor);
  }
}

function shownPeople({ operators, proxyRole }: People) {
  return {
    operators: operators.map(({ name, role, sees, password }) => ({
      ...{ name, role, seesAddresses: sees.includes('addresses') },
      hasPassword: password !== undefined,
    })),
    proxyRole,
  };
}

/** Preview of a run's release; a release that is not possible has a reason in its place. */
async function releaseOf(sync: SyncOperations, runId: number) {
  try {
    return { preview: await sync.previewRelease(runId), refused: null };
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    return { preview: null, refused: error.message };
  }
}

export async function lookUp(
  { sync, inbox, people, doctor, rules }: OperationDeps,
  lookup: Lookup,
): Promise<unknown> {
  switch (lookup.ask) {
    case 'release':
      return releaseOf(sync, lookup.runId);
    case 'inbox':
      return inbox();
    case 'people':
      return shownPeople(people());
    case 'reload':
      return rules.preview();
    default:
      return doctor();
  }
}
