/**
 * Messages from the console's thread to the daemon's loop, with the requests of pages and programs.
 * Only the daemon writes the database; the actor is always the session, never a member of the
 * request.
 */

import type { Request } from '../surface/perform.ts';
import type { Refusal } from '../surface/problem.ts';
import type { Lookup } from './lookups.ts';

/** Signed-in person or program that asks, with the address that the request came from. */
export interface Asker {
  readonly sessionId: number;
  readonly address: string | null;
}

export type Question =
  | { readonly ask: 'beat' }
  | { readonly ask: 'link'; readonly key: string; readonly address: string | null }
  | {
      readonly ask: 'password';
      readonly name: string;
      readonly password: string;
      readonly address: string | null;
    }
  /** Sign-in of a person whom the authenticating proxy names. */
  | { readonly ask: 'proxied'; readonly name: string; readonly address: string | null }
  | { readonly ask: 'ways' }
  | { readonly ask: 'touch'; readonly sessionId: number }
  | { readonly ask: 'signOut'; readonly by: Asker; readonly everywhere: boolean }
  | { readonly ask: 'perform'; readonly by: Asker; readonly request: Request }
  | Lookup;

export type Reply =
  | {
      readonly value: unknown;
      /** Whether what was done is kept here, and perhaps not at the standby. */
      readonly isKeptHere?: boolean;
    }
  | { readonly refused: Refusal };
