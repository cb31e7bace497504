import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Keeps at most `connectionsMax` connections to a server. Beyond that, the connection closes that
 * has gone longest without a whole request, so that slow or silent senders cannot shut the others
 * out; the newest closes only when every request has arrived and waits for its answer.
 */
export function limitConnections(server: Server, connectionsMax: number): void {
  // Connections are in the order of their last answer, or of their start if they have had none.
  const open = new Map<Socket, IncomingMessage | undefined>();
  const oldestWithoutRequest = (): Socket | undefined => {
    for (const [socket, request] of open) if (!request?.complete) return socket;
    return undefined;
  };
  server.on('connection', (socket: Socket) => {
    const closed = open.size < connectionsMax ? undefined : (oldestWithoutRequest() ?? socket);
    if (closed !== socket) {
      open.set(socket, undefined);
      socket.once('close', () => open.delete(socket));
    }
    if (closed === undefined) return;
    open.delete(closed);
    closed.destroy();
  });
  server.on('request', (request, response) => {
    const { socket } = request;
    open.set(socket, request);
    response.once('close', () => {
      // A pipelined request may have taken this one's place.
      if (open.get(socket) !== request) return;
      open.delete(socket);
      if (!socket.destroyed) open.set(socket, undefined);
    });
  });
}
