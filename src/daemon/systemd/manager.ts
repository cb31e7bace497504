/** The service manager (systemd): messages to it, and the sockets that it opened for us. */
import { ConfigError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { createNotifier, type Notifier, statusText } from './notifier.ts';

/** Socket names that a unit may set with `FileDescriptorName=`. */
const NAMES = ['webhook'] as const;
type SocketName = (typeof NAMES)[number];

export type InheritedSockets = Readonly<Partial<Record<SocketName, number>>>;

const FIRST_FD = 3;

/** Names that systemd gives a socket whose unit sets none. */
const NAMELESS = /^(?:unknown|connection|.*\.socket)?$/;

function nameOf(written: string, position: number): SocketName {
  const known = NAMES.find((name) => name === written);
  if (known) return known;
  if (position === 0 && NAMELESS.test(written)) return 'webhook';
  const message = `the service manager passes a socket named "${written}"`;
  const hint = `set FileDescriptorName= of the socket unit to ${NAMES.join(' or ')}`;
  throw new ConfigError('systemd.socket_name', message, { hint });
}

/** Sockets passed to this process, by name; none when meant for another process. */
export function inheritedSockets(
  env: Readonly<Record<string, string | undefined>>,
  pid: number,
): InheritedSockets {
  const count = Number(env.LISTEN_FDS ?? '0');
  if (Number(env.LISTEN_PID ?? '0') !== pid || !Number.isInteger(count) || count <= 0) return {};
  const written = (env.LISTEN_FDNAMES ?? '').split(':');
  const sockets: Partial<Record<SocketName, number>> = {};
  for (let position = 0; position < count; position += 1) {
    const name = nameOf(written[position] ?? '', position);
    if (sockets[name] !== undefined) {
      const message = `the service manager passes two sockets named "${name}"`;
      const hint = 'one ListenStream= for each FileDescriptorName=';
      throw new ConfigError('systemd.socket_twice', message, { hint });
    }
    sockets[name] = FIRST_FD + position;
  }
  return sockets;
}

export interface ServiceManager {
  readonly notifier: Notifier;
  readonly sockets: InheritedSockets;
}

/** Milliseconds that the manager is told to wait for a large database to open or migrate. */
const START_MS_MAX = 900_000;

/** Service manager that the environment names; without one, messages go nowhere. */
export function serviceManager(
  env: Readonly<Record<string, string | undefined>>,
  pid: number,
  log: Logger,
): ServiceManager {
  return { notifier: createNotifier(env, pid, log), sockets: inheritedSockets(env, pid) };
}

export async function tellOpening({ notifier }: ServiceManager): Promise<void> {
  const extend = `EXTEND_TIMEOUT_USEC=${START_MS_MAX * 1_000}`;
  await notifier.tell(extend, statusText('opening the database'));
}

/** Tells the service manager READY once all listens, STOPPING when the stop begins. */
export function announce(
  { notifier }: ServiceManager,
  listening: Promise<boolean>,
  signal: AbortSignal,
): void {
  void listening.then((isListening) =>
    isListening && !signal.aborted ? notifier.tell('READY=1') : undefined,
  );
  const stopping = (): void => {
    void notifier.tell('STOPPING=1', statusText('stopping'));
  };
  if (signal.aborted) stopping();
  else signal.addEventListener('abort', stopping, { once: true });
}
