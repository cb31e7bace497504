/** Which streams the configuration asks for, and when. */
import type { V1Client } from '../client/v1/client.ts';
import type { Config } from '../config/schema.ts';
import type { Store } from '../store/store.ts';
import type { PlannedStream } from '../sync/planner.ts';
import type { Stream } from '../sync/stream.ts';
import { createBrandsStream } from '../sync/streams/brands.ts';
import { createOrdersStream } from '../sync/streams/orders.ts';
import { createStockStream } from '../sync/streams/stock.ts';

export function plannedStreams(
  config: Config,
  store: Store,
  v1: V1Client,
  onRefreshRequested: () => void,
): PlannedStream[] {
  const { brands, stock, orders } = config.streams;
  const { detailed, detailedPricing, includeVariantsOnOrder } = stock;
  const { paging, pageLimit } = config.service.v1;
  const planned = (stream: Stream, settings: Config['streams']['brands']) =>
    settings.enabled ? [{ stream, schedule: settings.schedule, jitterMs: settings.jitter }] : [];
  return [
    ...planned(createOrdersStream({ v1, db: () => store.db, onRefreshRequested }), orders),
    ...planned(
      createStockStream(v1, {
        level: { detailed, detailedPricing, includeVariantsOnOrder },
        mode: paging,
        pageRows: pageLimit,
      }),
      stock,
    ),
    ...planned(createBrandsStream(v1), brands),
  ];
}
