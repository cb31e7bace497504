/** How far events announce what sweeps find, as the daemon has last seen it. */
import { z } from 'zod';
import { tryParseJson } from '../lib/json.ts';
import { readState } from '../store/state.ts';
import type { Db } from '../store/store.ts';

const coverage = z.object({ deliveries: z.number(), missed: z.number() });

export interface RelayFigures {
  /** `degraded`: the incident `events_missed` is open; `silent`: so, and no event came at all. */
  readonly state: 'healthy' | 'degraded' | 'silent';
  /** The newest deliveries that an event or a sweep has brought, 20 at most. */
  readonly deliveries: number;
  /** Found by a sweep, and announced by no event in time. */
  readonly missed: number;
}

/** Undefined while no daemon has seen a delivery. */
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
