/**
 * Tells the service manager the daemon's state, by its own helper program: Node has no datagram
 * sockets of the Unix kind. Without `NOTIFY_SOCKET` nothing is started and nothing happens.
 *
 * The helper is a child process, so the unit needs `NotifyAccess=all`. It is given five seconds and
 * never throws: a service manager that does not listen must not stop the daemon.
 */
import { execFile } from 'node:child_process';
import type { Logger } from '../../lib/log.ts';

export interface Notifier {
  /** Whether a service manager listens at all. */
  readonly isHeard: boolean;
  /** Milliseconds of silence until the service manager kills us; undefined: no limit. */
  readonly watchdogMs: number | undefined;
  /** Sends assignments such as `READY=1`; resolves when they have arrived, or could not be sent. */
  tell(...assignments: readonly string[]): Promise<void>;
  /** Reports a reload while `work` lasts, and readiness afterwards, whatever came of it. */
  reloading<T>(work: () => Promise<T>): Promise<T>;
}

type Environment = Readonly<Record<string, string | undefined>>;

const HELPER = 'systemd-notify';
const HELPER_MS_MAX = 5_000;
const STATUS_CHARS_MAX = 200;

/** Milliseconds from `WATCHDOG_USEC`; undefined: not set, or for another process. */
function watchdogOf(env: Environment, pid: number): number | undefined {
  const microseconds = Number(env.WATCHDOG_USEC ?? '');
  if (!Number.isFinite(microseconds) || microseconds <= 0) return undefined;
  if (env.WATCHDOG_PID !== undefined && Number(env.WATCHDOG_PID) !== pid) return undefined;
  return microseconds / 1_000;
}

/** Assignment that sets the line shown by `systemctl status`. */
export function statusText(text: string): string {
  return `STATUS=${text.replace(/\s+/g, ' ').slice(0, STATUS_CHARS_MAX)}`;
}

const NOBODY: Notifier = {
  isHeard: false,
  watchdogMs: undefined,
  tell: async () => undefined,
  reloading: (work) => work(),
};

export function createNotifier(env: Environment, pid: number, log: Logger): Notifier {
  const { NOTIFY_SOCKET, PATH } = env;
  if (NOTIFY_SOCKET === undefined || NOTIFY_SOCKET === '') return NOBODY;
  let isTold = false;
  const complain = (error: Error): void => {
    if (!isTold) log.warn({ err: error }, `${HELPER} failed; told once`);
    isTold = true;
  };
  const tell: Notifier['tell'] = (...assignments) =>
    new Promise((resolve) => {
      const options = { env: { NOTIFY_SOCKET, PATH }, timeout: HELPER_MS_MAX };
      execFile(HELPER, assignments, options, (error) => {
        if (error) complain(error);
        resolve();
      });
    });
  return {
    isHeard: true,
    watchdogMs: watchdogOf(env, pid),
    tell,
    async reloading(work) {
      await tell('RELOADING=1');
      try {
        return await work();
      } finally {
        await tell('READY=1');
      }
    },
  };
}
