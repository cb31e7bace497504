/** Progress of each schedule, in `daemon_state`: it outlives the process. */
import { z } from 'zod';
import { tryParseJson } from '../../lib/json.ts';
import { readState, writeStateAt } from '../../store/state.ts';
import type { Db, Tx } from '../../store/store.ts';

const resultSchema = z.object({
  /** Epoch ms of the end of the last try. */
  at: z.number(),
  isGood: z.boolean(),
  /** Rows of the report; null: it was not made. */
  rows: z.number().nullable(),
  /** File or mail server it went to, or the error. */
  says: z.string(),
});

const stateSchema = z.object({
  /** Its `every` when it was last looked at; another one begins again. */
  every: z.string(),
  /** Time for which it was last due, epoch ms. */
  dueAt: z.number(),
  /** Tries for that time. */
  attempts: z.number(),
  /** Epoch ms of the next try; null: it has arrived or is given up. */
  retryAt: z.number().nullable(),
  last: resultSchema.nullable(),
});

export type ScheduleResult = z.output<typeof resultSchema>;
export type ScheduleState = z.output<typeof stateSchema>;

function keyOf(name: string): string {
  return `report_schedule:${name}`;
}

/** Undefined where the schedule was never looked at. */
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
