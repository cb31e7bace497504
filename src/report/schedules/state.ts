/** Stored state of each schedule, in `daemon_state`, so that it outlives the process. */
import { z } from 'zod';
import { tryParseJson } from '../../lib/json.ts';
import { readState, writeStateAt } from '../../store/state.ts';
import type { Db, Tx } from '../../store/store.ts';

const resultSchema = z.object({
  /** Epoch ms when the last try ended. */
  at: z.number(),
  isGood: z.boolean(),
  /** Number of rows of the report; null: it was not made. */
  rows: z.number().nullable(),
  /** File or mail server that the report went to, or the error. */
  says: z.string(),
});

const stateSchema = z.object({
  /** Setting `every` when the schedule was last looked at; another one starts afresh. */
  every: z.string(),
  /** Epoch ms of the latest due time. */
  dueAt: z.number(),
  /** Number of tries for that due time. */
  attempts: z.number(),
  /** Epoch ms of the next try; null: the report is delivered or given up. */
  retryAt: z.number().nullable(),
  last: resultSchema.nullable(),
});

export type ScheduleResult = z.output<typeof resultSchema>;
export type ScheduleState = z.output<typeof stateSchema>;

function keyOf(name: string): string {
  return `report_schedule:${name}`;
}

/** Reads a schedule's state; undefined: the schedule was never looked at. */
export async function readSchedule(db: Db | Tx, name: string): Promise<ScheduleState | undefined> {
  const text = await readState(db, keyOf(name));
  return text === undefined ? undefined : stateSchema.parse(tryParseJson(text));
}

export async function writeSchedule(
  db: Db | Tx,
  name: string,
  state: ScheduleState,
  at: number,
): Promise<void> {
  await writeStateAt(db, keyOf(name), JSON.stringify(state), at);
}
