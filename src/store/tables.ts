/** Kysely's view of the schema. `test/store/schema.test.ts` compares it with a real database. */
import type { IntakeTables } from './tables/intake.ts';
import type { LedgerTables } from './tables/ledger.ts';
import type { MirrorTables } from './tables/mirror.ts';
import type { OutboxTables } from './tables/outbox.ts';

export interface Tables extends MirrorTables, LedgerTables, OutboxTables, IntakeTables {}

export type {
  ChangeGuard,
  DecisionOutcome,
  PauseTarget,
  RunOutcome,
} from './tables/ledger.ts';
export type { MirroredColumns } from './tables/mirror.ts';
export type { OutboxState } from './tables/outbox.ts';
