/** What is held back without a word in the database: by the pause file, or by the configuration. */
import type { Config } from '../config/schema.ts';
import { pauseReason } from '../store/care/pause.ts';

/** Kinds of push that the configuration stops; `all`: everything, also by a dry run. */
export function configuredStops({ outbox }: Pick<Config, 'outbox'>): readonly string[] {
  return [...(outbox.stop || outbox.dryRun ? ['all'] : []), ...outbox.stopKinds];
}

/** The same, with the pause; in the words of the metric. */
export function heldBack(config: Pick<Config, 'dataDir' | 'outbox'>): readonly string[] {
  const isPaused = pauseReason(config.dataDir) !== undefined;
  return [...(isPaused ? ['all'] : []), ...configuredStops(config)];
}
