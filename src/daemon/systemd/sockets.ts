/**
 * Sockets that the service manager opened for us and keeps open while we restart, so that no
 * sender is ever refused (`LISTEN_FDS`, sd_listen_fds(3)).
 */
import { ConfigError } from '../../lib/errors.ts';

/** What a socket may be for: `FileDescriptorName=` of its unit. */
const NAMES = ['webhook'] as const;
type SocketName = (typeof NAMES)[number];

/** File descriptors by name. */
export type InheritedSockets = Readonly<Partial<Record<SocketName, number>>>;

const FIRST_FD = 3;

/** What systemd calls a socket whose unit gives no name. */
const NAMELESS = /^(?:unknown|connection|.*\.socket)?$/;

function nameOf(written: string, position: number): SocketName {
  const known = NAMES.find((name) => name === written);
  if (known) return known;
  if (position === 0 && NAMELESS.test(written)) return 'webhook';
  const message = `the service manager passes a socket named "${written}"`;
  const hint = `set FileDescriptorName= of the socket unit to ${NAMES.join(' or ')}`;
  throw new ConfigError('systemd.socket_name', message, { hint });
}

/** The sockets meant for this process; none when they are meant for another one. */
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
