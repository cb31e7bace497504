/**
 * Streams that the configuration asks for, with their schedules.
 * The head of `config/lists.ts` names all places of a new list.
 */
import type { V1Client } from '../client/v1/client.ts';
import type { V2Client } from '../client/v2/client.ts';
import { hasAtLevel, STREAM_NEEDS } from '../config/level.ts';
import { V1_LISTS, V1_STREAMS, V2_LISTS, V2_STREAMS } from '../config/lists.ts';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../lib/clock.ts';
import { SHORT_LISTS } from '../mirror/catalog/names.ts';
import { version } from '../ops/version.ts';
import type { Store } from '../store/store.ts';
import type { Traits } from '../sync/account-traits.ts';
import type { OrderLooks } from '../sync/order-looks.ts';
import type { PlannedStream } from '../sync/planner.ts';
import type { ReadAlso } from '../sync/read-order.ts';
import type { Stream } from '../sync/stream.ts';
import { atLevel } from '../sync/streams/at-level.ts';
import { createOrdersStream } from '../sync/streams/orders.ts';
import { createPdmStream } from '../sync/streams/pdm.ts';
import { createSeasonStream } from '../sync/streams/season.ts';
import { readSeasons } from '../sync/streams/seasons.ts';
import { createShortListStream } from '../sync/streams/short-list.ts';
import { createStockStream } from '../sync/streams/stock.ts';

type Streams = Config['streams'];

export interface StreamSources {
  readonly store: Store;
  readonly clock: Clock;
  readonly v1: V1Client;
  /** Client of V2; undefined while V2 is not enabled. */
  readonly v2: V2Client | undefined;
  readonly onRefetchRequested: () => void;
  readonly looks?: OrderLooks | undefined;
  /** Learned traits of the account; undefined: nothing is pulled. */
  readonly traits?: Traits | undefined;
  /** Milliseconds between two sweeps while events are missed; undefined: the schedule applies. */
  readonly sweepPace?: (() => number | undefined) | undefined;
}

/** Parts to read with each order, which the configuration wants and the level has. */
export function readAlso({ streams, service }: Pick<Config, 'streams' | 'service'>): ReadAlso {
  const { refunds, pendingRefunds } = streams.orders;
  const { level } = service.dialect.v1;
  return {
    refunds: refunds && hasAtLevel(level, 'orderParts'),
    pendingRefunds: pendingRefunds && hasAtLevel(level, 'pendingRefunds'),
  };
}

function orderStreams(config: Config, sources: StreamSources): Stream[] {
  const { store, v1, clock, onRefetchRequested, looks } = sources;
  const deps = { v1, clock, db: () => store.db, onRefetchRequested, looks };
  const { orders, ordersFull } = config.streams;
  const { deletionGuard, closedOrders } = ordersFull;
  const { freshness: freshnessMs, calmFreshness: calmFreshnessMs } = orders;
  const also = readAlso(config);
  const options = { deletionGuard, closedOrders, freshnessMs, calmFreshnessMs, also };
  return [
    createOrdersStream(deps, { name: 'orders', ...options }),
    createOrdersStream(deps, { name: 'ordersFull', ...options }),
  ];
}

/** The stream, if the account's level has it; else none. */
function atItsLevel(
  { service }: Pick<Config, 'service'>,
  { v1, traits }: StreamSources,
  stream: Stream,
): Stream[] {
  const { level } = service.dialect.v1;
  const capability = STREAM_NEEDS[stream.name];
  if (capability === undefined) return [stream];
  if (!hasAtLevel(level, capability)) return [];
  return [atLevel(stream, { v1, traits, capability, level })];
}

function catalogStreams(config: Config, sources: StreamSources): Stream[] {
  const { v1, traits } = sources;
  const { stock, season } = config.streams;
  const { paging: mode, pageLimit: pageRows, unlisted } = config.service.dialect.v1;
  const { detailed, detailedPricing, includeVariantsOnOrder } = stock;
  return [
    createStockStream(v1, {
      level: { detailed, detailedPricing, includeVariantsOnOrder },
      deletionGuard: stock.deletionGuard,
      unlisted,
      mode,
      pageRows,
      traits,
    }),
    createSeasonStream(v1, {
      level: { detailed: season.detailed, detailedPricing: season.detailedPricing },
      deletionGuard: season.deletionGuard,
      mode,
      pageRows,
      traits,
    }),
    ...V1_STREAMS.map((name) =>
      createShortListStream({
        name,
        entity: SHORT_LISTS[name],
        deletionGuard: V1_LISTS[name].fixed.deletionGuard,
        read: (call) =>
          name === 'seasons' ? readSeasons({ v1, traits }, call) : v1.shortList(name, call),
      }),
    ),
  ].flatMap((one) => atItsLevel(config, sources, one));
}

/** Fingerprint of what changes how an answer is read: program, level, member names. */
function readingOf({ service }: Config): string {
  const { level, members } = service.dialect.v1;
  return JSON.stringify([version(), level, members]);
}

export function plannedStreams(config: Config, sources: StreamSources): PlannedStream[] {
  const { off, ...streams } = config.streams;
  const { v2, sweepPace } = sources;
  const all = [
    ...orderStreams(config, sources),
    ...catalogStreams(config, sources),
    ...V2_STREAMS.flatMap((name) =>
      v2 ? [createPdmStream(v2, name, V2_LISTS[name].fixed.deletionGuard)] : [],
    ),
  ];
  const reading = readingOf(config);
  const settings: Readonly<Record<string, Pick<Streams['orders'], 'schedule' | 'freshness'>>> =
    streams;
  return all.flatMap((stream) => {
    const { schedule, freshness: freshnessMs } = settings[stream.name] ?? {};
    if (schedule === undefined || freshnessMs === undefined || off.includes(stream.name)) return [];
    const more = stream.name === 'orders' ? { pace: sweepPace, atStart: true } : {};
    return [{ stream: { ...stream, reading, freshnessMs }, schedule, ...more }];
  });
}
