/** A listener for our own webhooks, which checks signatures with the library of the standard. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { Webhook } from 'standardwebhooks';
import { onTestFinished } from 'vitest';
import { z } from 'zod';

const BODY = z.object({
  type: z.string(),
  timestamp: z.string(),
  data: z.object({
    instance: z.string(),
    subject: z.string(),
    text: z.string(),
    causes: z.array(
      z.object({
        event: z.string(),
        cause: z.string(),
        count: z.number(),
        says: z.string(),
        oldest: z.array(z.object({ id: z.number(), since: z.string() })),
        look: z.string(),
      }),
    ),
  }),
});

interface Heard extends z.output<typeof BODY> {
  readonly id: string;
}

export interface HookListener {
  readonly url: string;
  readonly heard: readonly Heard[];
  /** Requests that were answered, whatever they held. */
  readonly calls: readonly string[];
  /** From now on each request is answered with this status. */
  answer(status: number): void;
  /** From now on the answer has a body that never ends. */
  neverEnd(): void;
}

/** `tls`: key and certificate of a listener over HTTPS. */
export async function startHookListener(
  secret: string,
  tls?: { readonly key: string; readonly cert: string },
): Promise<HookListener> {
  const heard: Heard[] = [];
  const calls: string[] = [];
  let status = 200;
  let isEndless = false;
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    calls.push(`${request.method} ${request.url}`);
    if (request.method === 'POST' && status === 200) {
      const body = Buffer.concat(chunks).toString();
      const headers = Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
      );
      try {
        // The times of these tests are made up: the signature is what counts.
        const signed = new Webhook(secret).sign(
          headers['webhook-id'] ?? '',
          new Date(Number(headers['webhook-timestamp']) * 1_000),
          body,
        );
        if (signed !== headers['webhook-signature']) throw new Error('forged');
        heard.push({ ...BODY.parse(JSON.parse(body)), id: headers['webhook-id'] ?? '' });
      } catch {
        response.writeHead(401).end();
        return;
      }
    }
    response.writeHead(status);
    if (isEndless) response.write('more');
    else response.end();
  };
  const server = tls ? createTlsServer(tls, serve) : createServer(serve);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `${tls ? 'https://localhost' : 'http://127.0.0.1'}:${address.port}/hook`,
    heard,
    calls,
    answer(next) {
      status = next;
    },
    neverEnd() {
      isEndless = true;
    },
  };
}
