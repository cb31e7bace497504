/** A change by the running daemon, which alone may write, or by ourselves when none runs. */
import { userInfo } from 'node:os';
import type { Command } from 'commander';
import type { z } from 'zod';
import { type Alone, workAlone } from '../../daemon/commands/alone.ts';
import { systemRandom } from '../../lib/chance.ts';
import { systemClock } from '../../lib/clock.ts';
import { StoreError } from '../../lib/errors.ts';
import { type CliContext, configOf } from '../command.ts';
import { askDaemon } from '../daemon-call.ts';

interface Asker {
  readonly actor: string;
  readonly reason: string;
}

export interface Change<T> {
  /** Such as `/api/events/replay`. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly answer: z.ZodType<T>;
  readonly alone: (parts: Alone, asker: Asker) => Promise<T>;
}

export async function throughDaemon<T>(
  context: CliContext,
  command: Command,
  change: Change<T>,
  reason: string,
): Promise<T> {
  const { config } = configOf(command, context);
  const asker = { actor: userInfo().username, reason };
  const deps = { clock: systemClock(), random: systemRandom(), scrubber: context.scrubber };
  try {
    return await workAlone(config, deps, (parts) => change.alone(parts, asker));
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== 'store.locked') throw error;
    const { path, answer } = change;
    return askDaemon(config.dataDir, { path, body: { ...change.body, ...asker }, answer });
  }
}
