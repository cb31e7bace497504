/** The schema for Kysely (`tables/generated.ts`), and the values that others name. */
import type { Selectable } from 'kysely';
import type { Tables } from './tables/generated.ts';

export type { Tables } from './tables/generated.ts';

/** Columns that every mirrored row has besides its own. */
export type MirroredColumns = Pick<
  Tables['brand'],
  'extra' | 'content_hash' | 'first_seen_at' | 'changed_at' | 'deleted_at' | 'read_seq' | 'source'
>;

export const OUTBOX_STATES = [
  'queued',
  'sending',
  'sent',
  'confirmed',
  'refused',
  'in_doubt',
  'dead',
  'canceled',
] as const satisfies readonly Selectable<Tables['outbox']>['state'][];

export type OutboxState = (typeof OUTBOX_STATES)[number];

export const RUN_OUTCOMES = [
  'running',
  'complete',
  'partial',
  'suspicious',
  'failed',
] as const satisfies readonly Selectable<Tables['sync_run']>['outcome'][];
export type RunOutcome = (typeof RUN_OUTCOMES)[number];

export type ChangeGuard = NonNullable<Tables['sync_run']['change_guard']>;
export type DecisionOutcome = Tables['decision']['outcome'];
export type PauseTarget = Tables['pause']['target'];
export type ConsoleRole = Tables['console_session']['role'];
