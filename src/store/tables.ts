/** Kysely's view of the schema. `test/store/schema.test.ts` compares it with a real database. */
import type { IntakeTables } from './tables/intake.ts';
import type { LedgerTables } from './tables/ledger.ts';
import type { MirrorTables } from './tables/mirror.ts';

export interface Tables extends MirrorTables, LedgerTables, IntakeTables {}

export type {
  ChangeGuard,
  DecisionOutcome,
  DueWhy,
  OutboxState,
  RunOutcome,
} from './tables/ledger.ts';
export type { MirroredColumns } from './tables/mirror.ts';
