/**
 * Stops an HTTP server without losing a request. `http.Server.close()` would also destroy accepted
 * connections without a request yet, so only the listening socket is closed first; the caller
 * answers later requests with `Connection: close`.
 */
import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import type { Clock } from '../lib/clock.ts';

/** Time for a fresh connection to send its request. */
const GRACE_MS = 1_000;

/** Resolves when the last connection has ended, after `deadlineMs` at the latest. */
export async function drainServer(server: Server, deadlineMs: number, clock: Clock): Promise<void> {
  if (!server.listening) return;
  const closed = new Promise<void>((resolve) => server.once('close', resolve));
  NetServer.prototype.close.call(server);
  const idle = clock.after(Math.min(GRACE_MS, deadlineMs), () => server.closeIdleConnections());
  const force = clock.after(deadlineMs, () => server.closeAllConnections());
  await closed;
  idle.cancel();
  force.cancel();
}
