/** The service manager as one thing: what it listens to, and the sockets that it keeps for us. */
import type { Logger } from '../../lib/log.ts';
import { createNotifier, type Notifier, statusText } from './notifier.ts';
import { type InheritedSockets, inheritedSockets } from './sockets.ts';

export interface ServiceManager {
  readonly notifier: Notifier;
  readonly sockets: InheritedSockets;
}

/** How long opening and migrating a large database may take; the start's deadline moves with it. */
const START_MS_MAX = 900_000;

/** The one that the environment names; one that hears nothing when there is none. */
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

/** READY once everything listens; STOPPING first thing on the way out. */
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
