/** Kysely's view of the schema. `test/store/schema.test.ts` compares it with a real database. */
import type { IntakeTables } from './tables/intake.ts';
import type { MirrorTables } from './tables/mirror.ts';
import type { OutboxTables } from './tables/outbox.ts';
import type { RecordTables } from './tables/records.ts';

export interface Tables extends MirrorTables, RecordTables, OutboxTables, IntakeTables {}

export type { MirroredColumns } from './tables/mirror.ts';
export { OUTBOX_STATES, type OutboxState } from './tables/outbox.ts';
export type { ChangeGuard, DecisionOutcome, PauseTarget } from './tables/records.ts';
export { RUN_OUTCOMES, type RunOutcome } from './tables/records.ts';
