/** A webhook receiver on a free port that keeps what it got and answers what it is told. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

export type Respond = (response: ServerResponse, request: Received) => void;

export interface Receiver {
  readonly url: string;
  readonly requests: Received[];
  respond: Respond;
  close(): Promise<void>;
}

async function read(request: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  );
  return { path: request.url ?? '', headers, body: Buffer.concat(chunks) };
}

/** Answers with this status and no body. */
export function answering(status: number, headers: Record<string, string> = {}): Respond {
  return (response) => response.writeHead(status, headers).end();
}

export async function startReceiver(): Promise<Receiver> {
  const server = createServer((request, response) => {
    void read(request).then((received) => {
      receiver.requests.push(received);
      receiver.respond(response, received);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/hook`,
    requests: [],
    respond: answering(204),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}
