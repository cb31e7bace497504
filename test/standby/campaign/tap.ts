/**
 * A TCP proxy that knows what passes: it can hold a piece while a fault strikes, lose or hold back
 * all bytes, and refuse connections. What a process has written is delivered after its death, too,
 * as a kernel does it.
 */
import { connect, createServer, type Socket } from 'node:net';

/** Forwards a piece by calling `forward`, once what it waits for has happened. */
export type Handling = (forward: () => void) => Promise<void>;

/** Reads the pieces of one connection as they arrive; undefined: the piece passes at once. */
export interface Watch {
  asked(bytes: Buffer): Handling | undefined;
  answered(bytes: Buffer): Handling | undefined;
}

/**
 * `broken`: connections end and none is taken; `silent`: bytes are lost, as by a cut cable;
 * `stalled`: bytes are held back until it is open again.
 */
export type TapState = 'open' | 'broken' | 'silent' | 'stalled';

export interface Tap {
  readonly port: number;
  /** Port that it leads to; a new one holds for new connections. */
  target: number;
  set(state: TapState): void;
  close(): void;
}

interface Way {
  readonly near: Socket;
  readonly far: Socket;
  /** A connection that has lost bytes cannot go on. */
  hasLost: boolean;
}

export async function startTap(target: number, watchOf?: () => Watch): Promise<Tap> {
  const ways = new Set<Way>();
  let state: TapState = 'open';
  let gate = Promise.withResolvers<void>();
  gate.resolve();
  const tap = { port: 0, target, set, close };
  function end({ near, far }: Way): void {
    near.destroy();
    far.destroy();
  }
  function set(next: TapState): void {
    state = next;
    if (next === 'stalled') gate = Promise.withResolvers<void>();
    else gate.resolve();
    for (const way of ways) if (next === 'broken' || way.hasLost) end(way);
  }
  function close(): void {
    set('broken');
    server.close();
  }
  function pipe(way: Way, from: Socket, to: Socket, watch?: Watch['asked']): void {
    let before = Promise.resolve();
    from.on('data', (bytes) => {
      if (state === 'silent') {
        way.hasLost = true;
        return;
      }
      const handling = watch?.(bytes);
      const forward = (): void => {
        if (!to.destroyed) to.write(bytes);
      };
      before = before.then(async () => {
        await gate.promise;
        if (handling) await handling(forward);
        else forward();
      });
    });
    from.on('error', () => undefined);
    from.on('close', () => {
      // Bytes that it has written before are delivered first.
      void before.then(() => {
        ways.delete(way);
        to.end();
        setImmediate(() => to.destroySoon());
      });
    });
  }
  const server = createServer((near) => {
    if (state === 'broken') {
      near.destroy();
      return;
    }
    const way: Way = { near, far: connect(tap.target, '127.0.0.1'), hasLost: false };
    near.setNoDelay(true);
    way.far.setNoDelay(true);
    ways.add(way);
    const watch = watchOf?.();
    pipe(way, near, way.far, watch?.asked);
    pipe(way, way.far, near, watch?.answered);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address !== null && typeof address === 'object') tap.port = address.port;
  return tap;
}
