/**
 * How a command changes something: through the running daemon, which alone may write, or, when
 * none runs, by itself under the daemon's lock.
 */
import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { request } from 'undici';
import { z } from 'zod';
import { localFile } from '../../console/api.ts';
import { withOperations } from '../../daemon/sync.ts';
import { systemRandom } from '../../lib/chance.ts';
import { systemClock } from '../../lib/clock.ts';
import { RefusedError, RetryLaterError, StoreError, toError } from '../../lib/errors.ts';
import { tryParseJson } from '../../lib/json.ts';
import type { Asker, SyncOperations } from '../../sync/operations.ts';
import { type CliContext, configOf } from '../command.ts';

export interface Change<T> {
  /** Below `/api/sync/`. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly answer: z.ZodType<T>;
  readonly directly: (operations: SyncOperations, asker: Asker) => Promise<T>;
}

const localSchema = z.object({ url: z.string(), token: z.string() });
const refusal = z.object({ code: z.string(), message: z.string(), hint: z.string().optional() });

/** An answer of the daemon that takes longer than this was never coming. */
const ANSWER_MS = 600_000;

function readLocal(dataDir: string): z.output<typeof localSchema> {
  try {
    return localSchema.parse(tryParseJson(readFileSync(localFile(dataDir), 'utf8')));
  } catch (cause) {
    throw new RetryLaterError('local.unreachable', 'the daemon runs, but cannot be asked', {
      hint: `is ${localFile(dataDir)} readable for this user? Try as the user of the service`,
      cause,
    });
  }
}

async function askDaemon<T>(dataDir: string, change: Change<T>, asker: Asker): Promise<T> {
  const { url, token } = readLocal(dataDir);
  const answer = await request(`${url}/api/sync/${change.path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...change.body, ...asker }),
    headersTimeout: ANSWER_MS,
  }).catch((error: unknown) => {
    const message = `the daemon does not answer: ${toError(error).message}`;
    throw new RetryLaterError('local.unreachable', message);
  });
  const body: unknown = await answer.body.json();
  if (answer.statusCode === 200) return change.answer.parse(body);
  const { code, message, hint } = refusal.parse(body);
  throw new RefusedError(code, message, { hint });
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
    return askDaemon(config.dataDir, change, asker);
  }
}
