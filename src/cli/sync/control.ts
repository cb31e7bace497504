/** How a command changes something about the pulls: through the running daemon, or alone. */
import type { Command } from 'commander';
import type { z } from 'zod';
import { operationsAlone } from '../../daemon/sync.ts';
import type { Asker, SyncOperations } from '../../sync/operations.ts';
import type { CliContext } from '../command.ts';
import { throughDaemon } from '../events/through-daemon.ts';

export interface Change<T> {
  /** Below `/api/sync/`. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly answer: z.ZodType<T>;
  readonly directly: (operations: SyncOperations, asker: Asker) => Promise<T>;
}

/** Carries the change out and gives its answer. */
export function carryOut<T>(
  context: CliContext,
  command: Command,
  { path, body, answer, directly }: Change<T>,
  reason: string,
): Promise<T> {
  const change = {
    path: `/api/sync/${path}`,
    ...{ body, answer },
    alone: (parts: Parameters<typeof operationsAlone>[0], asker: Asker) =>
      directly(operationsAlone(parts), asker),
  };
  return throughDaemon(context, command, change, reason);
}
