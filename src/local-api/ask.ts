/**
 * Sends HTTP requests directly, never through a proxy. With `NODE_USE_ENV_PROXY` Node turns its
 * global dispatcher into a proxy's, and the token of the local API would travel to it.
 */
import { join } from 'node:path';
import { Agent, requestBy } from '../lib/http-client/undici.ts';

/** Path of the file in which a running daemon publishes its address and token. */
export function localFile(dataDir: string): string {
  return join(dataDir, 'local.json');
}

/** Header of an answer to an act that a standby may lack. */
export const KEPT_HEADER = 'selvedge-kept';

export interface HereOptions {
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly headersTimeout: number;
  readonly signal?: AbortSignal | undefined;
}

export async function askHere(
  url: string,
  { signal, ...options }: HereOptions,
): Promise<{
  readonly statusCode: number;
  readonly text: string;
  /** Whether a standby may lack what was done. */
  readonly isKeptHere: boolean;
}> {
  const dispatcher = new Agent();
  try {
    const { statusCode, headers, body } = await requestBy(dispatcher, new URL(url), {
      ...options,
      method: options.method ?? 'GET',
      signal: signal ?? null,
    });
    return { statusCode, text: await body.text(), isKeptHere: headers[KEPT_HEADER] === 'here' };
  } finally {
    await dispatcher.destroy();
  }
}
