/**
 * The parts of `undici` that we use, without the rest: its index loads a whole browser's worth
 * (fetch, caches, web sockets, mocks), 85 modules of 950 KB, and three MiB of the heap of a daemon
 * that stays for months.
 */
import { createRequire } from 'node:module';
import type * as undici from 'undici';

type Request = (
  this: undici.Dispatcher,
  options: undici.Dispatcher.RequestOptions,
) => Promise<undici.Dispatcher.ResponseData>;
type ConnectOptions = Omit<undici.Dispatcher.ConnectOptions, 'origin'>;
type Connect = (
  this: undici.Dispatcher,
  options: ConnectOptions,
) => Promise<undici.Dispatcher.ConnectData>;

const part = createRequire(import.meta.url);

export const Agent: typeof undici.Agent = part('undici/lib/dispatcher/agent.js');
export const Client: typeof undici.Client = part('undici/lib/dispatcher/client.js');
export const Pool: typeof undici.Pool = part('undici/lib/dispatcher/pool.js');
export const buildConnector: typeof undici.buildConnector = part('undici/lib/core/connect.js');
const request: Request = part('undici/lib/api/api-request.js');
const connect: Connect = part('undici/lib/api/api-connect.js');

type RequestOptions = Omit<undici.Dispatcher.RequestOptions, 'origin' | 'path'>;

/** Sends a request to a URL by this dispatcher. */
export function requestBy(
  dispatcher: undici.Dispatcher,
  url: URL,
  options: RequestOptions,
): Promise<undici.Dispatcher.ResponseData> {
  const { origin, pathname, search } = url;
  return request.call(dispatcher, { ...options, origin, path: `${pathname}${search}` });
}

/** Asks a proxy for a way to the host and port that `path` names. */
export function connectBy(
  client: undici.Client,
  options: ConnectOptions,
): Promise<undici.Dispatcher.ConnectData> {
  return connect.call(client, options);
}
