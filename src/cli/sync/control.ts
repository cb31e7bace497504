/**
 * How a command changes something: through the running daemon, which alone may write, or, when
 * none runs, by itself under the daemon's lock.
 */
import { userInfo } from 'node:os';
import type { Command } from 'commander';
import type { z } from 'zod';
import { withOperations } from '../../daemon/sync.ts';
import { systemRandom } from '../../lib/chance.ts';
import { systemClock } from '../../lib/clock.ts';
import { StoreError } from '../../lib/errors.ts';
import type { Asker, SyncOperations } from '../../sync/operations.ts';
import { type CliContext, configOf } from '../command.ts';
import { askDaemon } from '../daemon-call.ts';

export interface Change<T> {
  /** Below `/api/sync/`. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly answer: z.ZodType<T>;
  readonly directly: (operations: SyncOperations, asker: Asker) => Promise<T>;
}

/** Carries the change out and gives its answer. */
export async function carryOut<T>(
  context: CliContext,
  command: Command,
  change: Change<T>,
  reason: string,
): Promise<T> {
  const { config } = configOf(command, context);
  const asker = { actor: userInfo().username, reason };
  const deps = { clock: systemClock(), random: systemRandom(), scrubber: context.scrubber };
  try {
    return await withOperations(config, deps, (operations) => change.directly(operations, asker));
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== 'store.locked') throw error;
    return askDaemon(config.dataDir, {
      path: `/api/sync/${change.path}`,
      body: { ...change.body, ...asker },
      answer: change.answer,
    });
  }
}
