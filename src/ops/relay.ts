/** How far events can be trusted, as the daemon's loss meter last said. */
import { z } from 'zod';
import { tryParseJson } from '../lib/json.ts';
import { readState } from '../store/state.ts';
import type { Db } from '../store/store.ts';

const relayFigures = z.object({
  state: z.enum(['unknown', 'healthy', 'degraded', 'silent']),
  /** Changes that an event should have told us of, within the configured time. */
  changes: z.number(),
  announced: z.number(),
  late: z.number(),
  lost: z.number(),
  waiting: z.number(),
  excused: z.number(),
  /** Lost, or known too late: 0 to 1. */
  missedShare: z.number(),
  /** Milliseconds from a change to the mirror, where an event brought it. */
  lateMsP50: z.number().nullable(),
  lateMsP95: z.number().nullable(),
  /** What the times of the service are behind, and no event is late by. */
  offsetMs: z.number().default(0),
  /** Milliseconds between two sweeps that this asks for; null: as scheduled. */
  sweepMs: z.number().nullable(),
  /** Epoch milliseconds of the last event before a silence that should not be. */
  silentSince: z.number().nullable(),
});

export type RelayFigures = z.output<typeof relayFigures>;

/** Undefined while no daemon has measured anything. */
export async function readRelayFigures(db: Db): Promise<RelayFigures | undefined> {
  const text = await readState(db, 'loss_meter');
  return text === undefined ? undefined : relayFigures.safeParse(tryParseJson(text)).data;
}
