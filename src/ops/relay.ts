/** How reliably the relay's events announce deliveries, as the daemon saw it last. */
import { z } from 'zod';
import { tryParseJson } from '../lib/json.ts';
import { readState } from '../store/state.ts';
import type { Db } from '../store/store.ts';

const coverage = z.object({ deliveries: z.number(), missed: z.number() });

export interface RelayFigures {
  /**
   * State of the relay; `degraded`: the incident `events_missed` is open; `silent`: it is, and no
   * event announced any delivery.
   */
  readonly state: 'healthy' | 'degraded' | 'silent';
  /** Number of newest deliveries that the figures are about, 20 at most. */
  readonly deliveries: number;
  /** Deliveries that a sweep found and no event announced in time. */
  readonly missed: number;
}

/** Reads the figures that the daemon noted; undefined while no daemon has seen a delivery. */
export async function readRelayFigures(db: Db): Promise<RelayFigures | undefined> {
  const text = await readState(db, 'event_coverage');
  const found = text === undefined ? undefined : coverage.safeParse(tryParseJson(text)).data;
  if (!found) return undefined;
  const open = await db
    .selectFrom('incident')
    .select('id')
    .where('kind', '=', 'events_missed')
    .where('resolved_at', 'is', null)
    .executeTakeFirst();
  if (!open) return { state: 'healthy', ...found };
  return { state: found.missed === found.deliveries ? 'silent' : 'degraded', ...found };
}
