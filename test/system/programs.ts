import { spawnSync } from 'node:child_process';
import { postgresPrograms } from '../support/postgres.ts';

/** Debian's package of each program that the system tests start. */
const PROGRAMS = new Map([
  ['bash', 'bash'],
  ['curl', 'curl'],
  ['dpkg', 'dpkg'],
  ['git', 'git'],
  ['isql', 'unixodbc libsqliteodbc odbcinst'],
  ['jq', 'jq'],
  ['openssl', 'openssl'],
  ['/usr/bin/python3', 'python3-openpyxl'],
  ['perl', 'perl-base'],
  ['pgbouncer', 'pgbouncer'],
  ['rsync', 'rsync'],
  ['script', 'bsdutils'],
  ['sqlite3', 'sqlite3'],
  ['tar', 'tar'],
  ['systemd-analyze', 'systemd'],
  ['systemd-notify', 'systemd'],
  ['systemd-sysusers', 'systemd'],
  ['systemd-tmpfiles', 'systemd'],
]);

const isMissing = (name: string) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0;

/** Whether programs are there that no test needs but one, which says what it is skipped for. */
export function areThere(...names: readonly string[]): boolean {
  const missing = names.filter(isMissing);
  if (missing.length > 0) process.stderr.write(`skipped: ${missing.join(', ')} is missing\n`);
  return missing.length === 0;
}

/** Fails at once, and in one line, where a program is missing. */
export function setup(): void {
  const missing = [...PROGRAMS].filter(([name]) => isMissing(name));
  // Debian keeps the server's programs out of the PATH.
  if (postgresPrograms() === undefined) missing.push(['postgres', 'postgresql']);
  if (missing.length === 0) return;
  const names = missing.map(([name]) => name).join(', ');
  const packages = [...new Set(missing.map(([, name]) => name))].join(' ');
  throw new Error(`the system tests need ${names}: apt-get install ${packages}`);
}
