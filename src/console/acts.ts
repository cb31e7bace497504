/**
 * Requests of the pages to the daemon, as messages between the console's thread and the daemon's
 * loop. Only the daemon writes; the actor is always the session, never a member of the request.
 */

import { z } from 'zod';
import { expectedSet } from '../decisions/review/bulk.ts';
import { type SelectedDelivery, SHOWN, SORTS } from '../decisions/review/listing.ts';
import { RELEASE_REASONS } from '../decisions/review/review.ts';
import { PAUSE_TARGETS } from '../store/pauses.ts';
import type { Lookup, OperationWish } from './operations/wishes.ts';
import { optionalOr, optionalText } from './query.ts';

const reason = z.string().trim().min(1, 'say why').max(1_000);
const id = z.coerce.number().int().min(1);
const amount = optionalOr(z.coerce.number().min(0));

/** A delivery as the page showed it to the person; 0: no decision yet. */
const seen = z.object({
  decisionId: z.coerce.number().int().min(0),
  contentHash: z.string().max(200),
});

/** Rows of a page, and of a whole list for a spreadsheet. */
const PAGE_ROWS = 100;
export const LIST_MAX = 10_000;

/** The filter of the review list as it stands in an address. */
export const reviewQuery = z.object({
  shown: z
    .enum(['', ...SHOWN])
    .default('held')
    .transform((shown) => shown || 'held'),
  rule: optionalText,
  owner: optionalText,
  country: optionalText,
  customer: optionalText,
  season: optionalText,
  currency: optionalText,
  min: amount,
  max: amount,
  /** Hours since it was packed, at the least. */
  older: amount,
  overdue: z
    .enum(['', '1'])
    .optional()
    .transform((flag) => (flag === '1' ? true : undefined)),
  q: optionalText,
});

export const reviewListQuery = reviewQuery.extend({
  sort: z
    .enum(['', ...SORTS])
    .default('waiting')
    .transform((sort) => sort || 'waiting'),
  descending: z
    .enum(['', '0', '1'])
    .optional()
    .transform((flag) => flag === '1'),
  /** Has a customer's name in it, as the order of the list wants it. */
  after: z
    .string()
    .max(2_000)
    .optional()
    .transform((text) => text || undefined),
  limit: z.coerce.number().int().min(1).max(LIST_MAX).default(PAGE_ROWS),
});

export type ReviewQuery = z.output<typeof reviewQuery>;

/** Choices of single actions, as the command line has them; pages leave them out. */
const choices = {
  why: z.enum(RELEASE_REASONS).optional(),
  /** For a release: the rules decide again. */
  toRules: z.boolean().default(true),
  /** For a hold: only where a reject waits. */
  ifRejectWaits: z.boolean().optional(),
};

export const reviewAct = seen.extend({
  ...choices,
  reason,
  /** For a reject: the delivery number, typed. */
  confirmed: optionalText,
});
const BULK_ACTIONS = ['accept', 'hold', 'release', 'reject'] as const;

/** Acts on all that fit the filter, if they are still those that the person saw. */
export const bulkAct = z.object({
  action: z.enum(BULK_ACTIONS),
  ...choices,
  reason,
  expect: expectedSet,
  /** For a reject: the delivery numbers, typed, with blanks between. */
  confirmed: optionalText,
});

/** The same as a program sends it: the filter beside what is expected of it. */
export const bulkRequest = bulkAct.omit({ expect: true }).extend({
  select: z.object({ filter: reviewQuery, expect: bulkAct.shape.expect }),
});
export const noteAct = z.object({ text: z.string().trim().max(1_000) });
export const undoAct = z.object({ decisionId: id });
export const outboxAct = z.object({ reason });
export const confirmAct = outboxAct.extend({
  /** Id of the thing that the push made at the service; null where it makes none. */
  id: z.string().min(1).max(100).nullable(),
});
export const pauseAct = z.object({
  target: z.enum(PAUSE_TARGETS),
  name: z.string().max(100).default(''),
  reason,
});

type ReviewAct = z.output<typeof reviewAct>;
export type BulkAct = z.output<typeof bulkAct>;

export type Wish =
  | {
      readonly do: 'review';
      readonly action: 'accept' | 'hold' | 'release' | 'reject';
      readonly delivery: number;
      readonly act: ReviewAct;
    }
  | {
      readonly do: 'bulk';
      readonly act: BulkAct;
      /** Deliveries that fit the filter, which are the ones that the person saw. */
      readonly deliveries: readonly SelectedDelivery[];
    }
  | { readonly do: 'note'; readonly delivery: number; readonly text: string }
  | { readonly do: 'undo'; readonly delivery: number; readonly decisionId: number }
  | {
      readonly do: 'outbox';
      readonly action: 'retry' | 'cancel' | 'absent' | 'noted';
      readonly outboxId: number;
      readonly reason: string;
    }
  | {
      readonly do: 'confirm';
      readonly outboxId: number;
      readonly id: string | null;
      readonly reason: string;
    }
  | ({ readonly do: 'pause' | 'resume' } & z.output<typeof pauseAct>)
  | OperationWish;

/** Somebody who is signed in, with the address that the request came from. */
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
  /** Somebody whom the authenticating proxy names. */
  | { readonly ask: 'proxied'; readonly name: string; readonly address: string | null }
  | { readonly ask: 'ways' }
  | { readonly ask: 'touch'; readonly sessionId: number }
  | { readonly ask: 'signOut'; readonly by: Asker; readonly everywhere: boolean }
  | { readonly ask: 'act'; readonly by: Asker; readonly wish: Wish }
  | Lookup;

/** A refusal in words, with the status that a program gets. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
}

export type Reply = { readonly value: unknown } | { readonly refused: Refusal };
