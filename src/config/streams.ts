/** Lists the streams that the daemon pulls. */
import { streamsNotAtLevel } from './level.ts';
import { V2_STREAMS } from './lists.ts';
import type { Config } from './schema.ts';

type Streams = Config['streams'];

/**
 * Settings of each stream by name, without streams that are switched off or that the account's
 * level does not have.
 */
export function pulledStreams({
  streams: { off, ...streams },
  service,
}: Pick<Config, 'streams' | 'service'>): Readonly<
  Record<string, Pick<Streams['orders'], 'schedule' | 'freshness'>>
> {
  const ofV2 = new Set<string>(V2_STREAMS);
  const notThere = streamsNotAtLevel({ streams: { off, ...streams }, service });
  return Object.fromEntries(
    Object.entries(streams).filter(
      ([name]) =>
        !off.includes(name) &&
        notThere[name] === undefined &&
        (service.v2.enabled || !ofV2.has(name)),
    ),
  );
}
