/**
 * Messages from the console's thread to the daemon's loop, with the requests of pages and programs.
 * Only the daemon writes the database; the actor is always the session, never a member of the
 * request.
 */

import { z } from 'zod';
import { expectedSet } from '../decisions/review/bulk.ts';
import { type SelectedDelivery, SHOWN, SORTS } from '../decisions/review/listing.ts';
import { RELEASE_REASONS } from '../decisions/review/review.ts';
import type { Request } from '../surface/perform.ts';
import type { Refusal } from '../surface/problem.ts';
import type { Lookup } from './lookups.ts';
import { optionalOr, optionalText } from './query.ts';

const reason = z.string().trim().min(1, 'say why').max(1_000);
const id = z.coerce.number().int().min(1);
const amount = optionalOr(z.coerce.number().min(0));

/** State of a delivery that the page showed to the person; decisionId 0: no decision yet. */
const seen = z.object({
  decisionId: z.coerce.number().int().min(0),
  contentHash: z.string().max(200),
});

/** Rows of a page; LIST_MAX: of a whole list for a spreadsheet. */
const PAGE_ROWS = 100;
export const LIST_MAX = 10_000;

/** Filter of the review list, as a page's address has it. */
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
  /** Least number of hours since the delivery was packed. */
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
  /**
   * Place in the list after which the page begins. May hold a customer's name, because the list can
   * be sorted by it.
   */
  after: z
    .string()
    .max(2_000)
    .optional()
    .transform((text) => text || undefined),
  limit: z.coerce.number().int().min(1).max(LIST_MAX).default(PAGE_ROWS),
});

export type ReviewQuery = z.output<typeof reviewQuery>;

/** Options of single actions, for programs as for the command line; pages leave them out. */
const choices = {
  why: z.enum(RELEASE_REASONS).optional(),
  /** Whether the rules decide a released delivery again. */
  toRules: z.boolean().default(true),
  /** Whether a hold is wanted only if a reject waits for its grace to end. */
  ifRejectWaits: z.boolean().optional(),
};

export const reviewAct = seen.extend({
  ...choices,
  reason,
  /** Delivery number that a person typed to confirm a reject. */
  confirmed: optionalText,
});
const BULK_ACTIONS = ['accept', 'hold', 'release', 'reject'] as const;

/** An act on all deliveries that fit the filter, if they are still those that the person saw. */
export const bulkAct = z.object({
  action: z.enum(BULK_ACTIONS),
  ...choices,
  reason,
  expect: expectedSet,
  /** Delivery numbers that a person typed to confirm a reject, separated by blanks. */
  confirmed: optionalText,
});

/** An act on many deliveries by a program; `select` has the filter and what it expects. */
export const bulkRequest = bulkAct.omit({ expect: true }).extend({
  select: z.object({ filter: reviewQuery, expect: bulkAct.shape.expect }),
});
export const noteAct = z.object({ text: z.string().trim().max(1_000) });
export const undoAct = z.object({ decisionId: id });

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
      /** Deliveries that fit the filter, and are those that the person saw. */
      readonly deliveries: readonly SelectedDelivery[];
    }
  | { readonly do: 'note'; readonly delivery: number; readonly text: string }
  | { readonly do: 'undo'; readonly delivery: number; readonly decisionId: number };

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
  | { readonly ask: 'act'; readonly by: Asker; readonly wish: Wish }
  | { readonly ask: 'perform'; readonly by: Asker; readonly request: Request }
  | Lookup;

export type Reply = { readonly value: unknown } | { readonly refused: Refusal };
