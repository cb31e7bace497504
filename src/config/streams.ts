/** Lists the streams that the daemon pulls. */
import { streamsNotAtLevel } from './level.ts';
import type { Config } from './schema.ts';

type Streams = Config['streams'];

/** Names of the streams that are read from V2. */
export const PDM_STREAMS = [
  'styles',
  'styleColors',
  'colors',
  'pdmBrands',
  'types',
  'genders',
  'countries',
] as const;

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
  const ofV2 = new Set<string>(PDM_STREAMS);
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
