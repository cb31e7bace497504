/**
 * Learns whether the service shows that an order of this account is a pre-order. It does if it has
 * shown one of ours so; it does not if people have noted two that it did not, since it last showed
 * one. Until then, a pre-order that is shown as a plain order may have been taken as one, and would
 * ship months early.
 */
import { z } from 'zod';
import { tryParseJson } from '../../lib/json.ts';
import { readState, writeStateAt } from '../../store/state.ts';
import type { Db, Tx } from '../../store/store.ts';

const KEY = 'outbox.preorders_shown';
const NOTED_MIN = 2;

const schema = z.object({ isShown: z.boolean(), noted: z.int() });

export type SeasonsShown = 'yes' | 'never' | 'unknown';

async function read(db: Db | Tx): Promise<z.output<typeof schema>> {
  const parsed = schema.safeParse(tryParseJson((await readState(db, KEY)) ?? ''));
  return parsed.success ? parsed.data : { isShown: false, noted: 0 };
}

export async function seasonsShown(db: Db | Tx): Promise<SeasonsShown> {
  const { isShown, noted } = await read(db);
  if (isShown) return 'yes';
  return noted >= NOTED_MIN ? 'never' : 'unknown';
}

export async function noteSeasonShown(tx: Tx, now: number): Promise<void> {
  const { isShown, noted } = await read(tx);
  if (isShown && noted === 0) return;
  await writeStateAt(tx, KEY, JSON.stringify({ isShown: true, noted: 0 }), now);
}

export async function noteSeasonUnseen(tx: Tx, now: number): Promise<void> {
  const known = await read(tx);
  const noted = known.noted + 1;
  const isShown = known.isShown && noted < NOTED_MIN;
  await writeStateAt(tx, KEY, JSON.stringify({ isShown, noted }), now);
}

export function unseenSeason(season: string, shown: SeasonsShown): string[] {
  if (shown === 'never') return [];
  return shown === 'yes'
    ? [`season: sent ${season}, shown none: it was taken as a plain order`]
    : [`season: sent ${season}; nothing shows that it was taken as a pre-order`];
}
