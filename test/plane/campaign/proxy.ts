/** A TCP proxy that can cut its connections and hold their bytes back. */
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface TcpProxy {
  readonly port: number;
  /** Bytes in both directions come so much later. */
  delayMs: number;
  /** Loses all bytes, of new connections too, as a cut cable does. */
  isSilent: boolean;
  /** Breaks every connection at once. */
  cut(): void;
  close(): void;
}

export async function startProxy(target: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const proxy = { port: 0, delayMs: 0, isSilent: false, cut, close };
  function cut(): void {
    for (const socket of sockets) socket.destroy();
  }
  function close(): void {
    cut();
    server.close();
  }
  function pipe(from: Socket, to: Socket): void {
    sockets.add(from);
    // Pieces go one after the other, so that held back bytes stay in their order.
    let before = Promise.resolve();
    from.on('data', (bytes) => {
      if (proxy.isSilent) return;
      before = before.then(async () => {
        if (proxy.delayMs > 0) await sleep(proxy.delayMs);
        if (!to.destroyed) to.write(bytes);
      });
    });
    from.on('error', () => undefined);
    from.on('close', () => {
      sockets.delete(from);
      to.destroy();
    });
  }
  const server = createServer((near) => {
    const far = connect(target, '127.0.0.1');
    pipe(near, far);
    pipe(far, near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address !== null && typeof address === 'object') proxy.port = address.port;
  return proxy;
}
