/** Reads events for pages: the list, one event with its effects, and missed events. */
import { isUtf8 } from 'node:buffer';
import { listMissed, type MissedDelivery } from '../../inbox/event-coverage.ts';
import type { EventTrace } from '../../inbox/overview.ts';
import { isTooDeep, tryParseJson } from '../../lib/json.ts';
import { type RelayFigures, readRelayFigures } from '../../ops/relay.ts';
import type { Db } from '../../store/store.ts';
import { foreignEvents } from '../../store/system-keys.ts';

export interface EventFigures {
  readonly lastAt: number | null;
  readonly relay: RelayFigures | null;
  readonly missed: readonly MissedDelivery[];
  /** Number of events of other accounts, by their system key. */
  readonly foreign: Readonly<Record<string, number>>;
  /** Number of orders that wait to be read again. */
  readonly waiting: number;
}

const MISSED_MAX = 20;

export async function readEventFigures(db: Db, now: number): Promise<EventFigures> {
  const last = await db
    .selectFrom('webhook_event')
    .select((eb) => eb.fn.max('received_at').as('at'))
    .executeTakeFirst();
  const waiting = await db
    .selectFrom('refresh')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return {
    lastAt: last?.at ?? null,
    relay: (await readRelayFigures(db)) ?? null,
    missed: await listMissed(db, now, MISSED_MAX),
    foreign: await foreignEvents(db),
    waiting: Number(waiting.count),
  };
}

/** Body of an event: JSON where it parses, else text, else base64. */
export function bodyOf({ body }: Pick<EventTrace, 'body'>): unknown {
  if (!isUtf8(body)) return body.toString('base64');
  const text = body.toString('utf8');
  const json = tryParseJson(text);
  return json === undefined || isTooDeep(json) ? text : json;
}
