/** Information that pages ask of the daemon, which alone has it. */
import { RefusedError } from '../lib/errors.ts';
import type { SyncOperations } from '../sync/operations.ts';
import type { People } from './access/entrance.ts';

export type Lookup =
  | { readonly ask: 'release'; readonly runId: number }
  | { readonly ask: 'inbox' }
  | { readonly ask: 'people' }
  | { readonly ask: 'doctor' };

export interface LookupDeps {
  readonly sync: Pick<SyncOperations, 'previewRelease'>;
  /** Counters of the event listener since the daemon started, such as refused events by reason. */
  readonly inbox: () => unknown;
  readonly people: () => People;
  /** Findings of the doctor's checks that do without the network. */
  readonly doctor: () => Promise<readonly unknown[]>;
}

function shownPeople({ operators, proxyRole }: People) {
  return {
    operators: operators.map(({ name, role, sees, password }) => ({
      name,
      role,
      seesAddresses: sees.includes('addresses'),
      hasPassword: password !== undefined,
    })),
    proxyRole,
  };
}

/** Preview of a run's release; a release that is not possible has a reason in its place. */
async function releaseOf(sync: LookupDeps['sync'], runId: number) {
  try {
    return { preview: await sync.previewRelease(runId), refused: null };
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    return { preview: null, refused: error.message };
  }
}

export async function lookUp(
  { sync, inbox, people, doctor }: LookupDeps,
  lookup: Lookup,
): Promise<unknown> {
  switch (lookup.ask) {
    case 'release':
      return releaseOf(sync, lookup.runId);
    case 'inbox':
      return inbox();
    case 'people':
      return shownPeople(people());
    default:
      return doctor();
  }
}
