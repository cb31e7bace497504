/** Lets a command ask the running daemon, which alone may write the database while it runs. */
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { z } from 'zod';
import type { OfflineParts } from '../daemon/commands/offline.ts';
import { systemClock } from '../lib/clock.ts';
import { RefusedError, RetryLaterError, StoreError, toError, UsageError } from '../lib/errors.ts';
import { isJsonObject, tryParseJson } from '../lib/json.ts';
import { systemRandom } from '../lib/random.ts';
import { askHere, localFile } from '../local-api/ask.ts';
import type { Actor } from '../store/audit.ts';
import { type CliContext, userName } from './command.ts';
import { configOf } from './configuration.ts';

const localSchema = z.object({ url: z.string(), token: z.string() });
const refusal = z.object({ code: z.string(), message: z.string(), hint: z.string().optional() });

/** Milliseconds to wait for the daemon's answer; one that takes longer will never come. */
const ANSWER_MS = 600_000;

/** Error codes of a connection that did not come about, so that the daemon did nothing. */
const NOT_ASKED = new Set<unknown>(['ECONNREFUSED', 'UND_ERR_CONNECT_TIMEOUT']);

function readLocal(dataDir: string): z.output<typeof localSchema> {
  try {
    return localSchema.parse(tryParseJson(readFileSync(localFile(dataDir), 'utf8')));
  } catch (cause) {
    throw new RetryLaterError('local.unreachable', 'the daemon cannot be asked', {
      hint: `does it run, and is ${localFile(dataDir)} readable for this user?`,
      cause,
    });
  }
}

const KEPT_HERE = 'kept here only: PostgreSQL has not confirmed it, so a standby may lack it';

export interface DaemonCall<T> {
  /** Path of the local API, such as `/api/sync/run`. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly answer: z.ZodType<T>;
  /** Aborts the wait for the answer. */
  readonly signal?: AbortSignal | undefined;
}

function brokenOff(cause: unknown): never {
  const { message } = toError(cause);
  if (isJsonObject(cause) && NOT_ASKED.has(cause.code)) {
    const silent = `the daemon does not answer: ${message}`;
    throw new RetryLaterError('local.unreachable', silent, { cause });
  }
  const hint = 'what was asked for may have been done: look before you ask again';
  const broken = `the daemon broke off its answer: ${message}`;
  throw new RetryLaterError('local.broken_off', broken, { hint, cause });
}

/**
 * Whether the answer is another program's: a killed daemon leaves its address in the file, and the
 * program that has it now does not know the daemon's token.
 */
function isOther(status: number, body: unknown): boolean {
  if (status === 200) return body === undefined;
  return status === 401 || !refusal.safeParse(body).success;
}

/**
 * Asks the daemon of this data folder. Throws RetryLaterError when none answers, RefusedError with
 * the daemon's own words when it will not.
 */
async function askDaemon<T>(
  { output }: Pick<CliContext, 'output'>,
  dataDir: string,
  call: DaemonCall<T>,
): Promise<T> {
  const { url, token } = readLocal(dataDir);
  const answer = await askHere(`${url}${call.path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(call.body),
    headersTimeout: ANSWER_MS,
    signal: call.signal,
  }).catch(brokenOff);
  const body = tryParseJson(answer.text);
  if (isOther(answer.statusCode, body)) {
    const message = `at ${url} answers another program, and not the daemon`;
    const hint = 'does the daemon run? It tells its address again at each start';
    throw new RetryLaterError('local.unreachable', message, { hint });
  }
  if (answer.isKeptHere) output.note(KEPT_HERE);
  if (answer.statusCode === 200) return call.answer.parse(body);
  const { code, message, hint } = refusal.parse(body);
  // Status 400 is a mistake of the command line, whatever state the daemon is in.
  if (answer.statusCode === 400) throw new UsageError(code, message, { hint });
  throw new RefusedError(code, message, { hint });
}

/**
 * Asks the daemon of this configuration, in the name of this user; throws like {@link askDaemon}.
 */
export function askRunningDaemon<T>(
  command: Command,
  context: CliContext,
  call: DaemonCall<T>,
): Promise<T> {
  const { config } = configOf(command, context);
  const body = { ...call.body, actor: userName() };
  return askDaemon(context, config.dataDir, { ...call, body });
}

export interface Change<T> extends DaemonCall<T> {
  /** Reason of the change, for the audit. */
  readonly reason: string;
  /** Makes the same change in the database itself, when no daemon runs. */
  readonly offline: (parts: OfflineParts, asker: Actor) => Promise<T>;
}

/** Makes a change through the running daemon, or in the database itself when none runs. */
export async function viaDaemonOrOffline<T>(
  command: Command,
  context: CliContext,
  { reason, offline, ...call }: Change<T>,
): Promise<T> {
  const { config } = configOf(command, context);
  const asker = { actor: `cli:${userName()}`, reason };
  const deps = { clock: systemClock(), random: systemRandom(), scrubber: context.scrubber };
  // The module for offline work is loaded late, because a command that only asks needs no store.
  const { workOffline } = await import('../daemon/commands/offline.ts');
  try {
    return await workOffline(config, deps, (parts) => offline(parts, asker));
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== 'store.locked') throw error;
    return askDaemon(context, config.dataDir, {
      ...call,
      body: { ...call.body, actor: userName(), reason },
    });
  }
}
