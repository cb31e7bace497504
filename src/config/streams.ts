/** Streams that the daemon pulls. */
import { streamsNotAtLevel } from './level.ts';
import type { Config } from './schema.ts';

type Streams = Config['streams'];

/** Streams of V2. */
export const PDM_STREAMS = [
  'styles',
  'styleColors',
  'colors',
  'pdmBrands',
  'types',
  'genders',
  'countries',
] as const;

/** The settings of each, without those that are switched off, or are not at the account's level. */
export function pulledStreams({
  streams,
  service,
}: Pick<Config, 'streams' | 'service'>): Readonly<
  Record<string, Pick<Streams['orders'], 'schedule' | 'freshness'>>
> {
  const ofV2 = new Set<string>(PDM_STREAMS);
  const notThere = streamsNotAtLevel({ streams, service });
  return Object.fromEntries(
    Object.entries(streams).filter(
      ([name, { enabled }]) =>
        enabled && notThere[name] === undefined && (service.v2.enabled || !ofV2.has(name)),
    ),
  );
}
