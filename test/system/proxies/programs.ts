/**
 * Reverse proxies with the blocks of the manual as they are printed. Ports and names of
 * certificates are {@link replaced}, and comments `… as above` by those lines; what stands around a
 * block in a machine's own configuration is in {@link WRAPPED}.
 */
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { documentBlocks } from '../../support/documents.ts';
import { until } from '../../support/house.ts';
import { temporaryFolder } from '../../support/store.ts';

export const CONSOLE_NAME = 'selvedge.example.com';
export const EVENTS_NAME = 'hooks.example.com';

/** Debian keeps servers out of the PATH of people. */
const ENV = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };

export type Program = 'nginx' | 'apache' | 'caddy' | 'haproxy';
const BINARY: Record<Program, string> = {
  nginx: 'nginx',
  apache: 'apache2',
  caddy: 'caddy',
  haproxy: 'haproxy',
};

export function isThere(program: Program): boolean {
  return spawnSync('sh', ['-c', `command -v ${BINARY[program]}`], { env: ENV }).status === 0;
}

export interface Ports {
  /** Port of the proxy, which is not 443. */
  readonly proxy: number;
  readonly console: number;
  readonly listener: number;
  readonly local: number;
  readonly signIn?: number;
  /** Port of the listener of a second machine. */
  readonly second?: number;
}

/** Replacements in a block, and nothing else. */
function replaced(text: string, at: Ports, folder: string): string {
  return (
    text
      .replaceAll('127.0.0.1:8793', `127.0.0.1:${at.console}`)
      .replaceAll(/(?:127\.0\.0\.1|192\.0\.2\.11):8790/g, `127.0.0.1:${at.listener}`)
      .replaceAll('192.0.2.12:8790', `127.0.0.1:${at.second}`)
      .replaceAll('port 8791', `port ${at.local}`)
      .replaceAll('127.0.0.1:4180', `127.0.0.1:${at.signIn}`)
      // 443 is for root alone, and may be taken.
      .replaceAll(/^( *listen) 443 /gm, `$1 ${at.proxy} `)
      .replaceAll('<VirtualHost *:443>', `<VirtualHost *:${at.proxy}>`)
      .replaceAll('bind :443 ', `bind :${at.proxy} `)
      .replaceAll(/^(\w+\.example\.com) \{$/gm, `$1:${at.proxy} {`)
      // The certificate is the test's own.
      .replaceAll(/\/etc\/\S+\.key\b|\/etc\/\S+\/privkey\.pem/g, join(folder, 'key.pem'))
      .replaceAll('/etc/haproxy/selvedge.pem', join(folder, 'both.pem'))
      .replaceAll(/\/etc\/\S+\.pem/g, join(folder, 'certificate.pem'))
      .replaceAll('/etc/nginx/', `${folder}/`)
  );
}

/** Configuration of a machine around the blocks. */
const WRAPPED: Record<Program, (blocks: string, at: Ports, folder: string) => string> = {
  nginx: (blocks, _at, folder) => `
    ${process.getuid?.() === 0 ? 'user root;' : ''}
    pid ${folder}/pid;
    error_log ${folder}/log;
    daemon off;
    events {}
    http {
      access_log off;
      ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
        .map((one) => `${one}_temp_path ${folder}/${one};`)
        .join('\n')}
      ${blocks}
    }`,
  apache: (blocks, { proxy }, folder) => `
    ServerName localhost
    ServerRoot ${folder}
    PidFile ${folder}/pid
    ErrorLog ${folder}/log
    DefaultRuntimeDir ${folder}
    User www-data
    Group www-data
    Listen ${proxy}
    ${['mpm_event', 'authz_core', 'ssl', 'http2', 'proxy', 'proxy_http']
      .map((one) => `LoadModule ${one}_module /usr/lib/apache2/modules/mod_${one}.so`)
      .join('\n')}
    ${blocks}`,
  caddy: (blocks) => `{
      admin off
      auto_https disable_redirects
      local_certs
      skip_install_trust
    }
    ${blocks}`,
  haproxy: (blocks, _at, folder) => `
    global
      stats socket ${folder}/stats
    ${blocks}`,
};

const ARGUMENTS: Record<Program, (file: string) => readonly string[]> = {
  nginx: (file) => ['-c', file],
  apache: (file) => ['-DFOREGROUND', '-f', file],
  caddy: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
  haproxy: (file) => ['-db', '-f', file],
};

function makeCertificate(folder: string): void {
  const [key, certificate] = ['key.pem', 'certificate.pem'].map((name) => join(folder, name));
  const names = [CONSOLE_NAME, EVENTS_NAME].map((name) => `DNS:${name}`).join(',');
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
      ...['-subj', `/CN=${CONSOLE_NAME}`, '-addext', `subjectAltName=${names}`, '-days', '2'],
      ...['-keyout', `${key}`, '-out', `${certificate}`],
    ],
    { stdio: 'pipe' },
  );
  const both = [certificate, key].map((path) => readFileSync(`${path}`, 'utf8')).join('');
  writeFileSync(join(folder, 'both.pem'), both);
}

/** Ports that nobody has now. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => {
    const at = server.address();
    if (at === null || typeof at === 'string') throw new Error('no port');
    return at.port;
  });
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

/** Blocks of the manual for a program, those of the console first. */
function blocksOf(program: Program): readonly string[] {
  const blocks = documentBlocks(program).toSorted((a, b) => b.place.localeCompare(a.place));
  return blocks.map(({ text }) => text);
}

export interface Proxy {
  readonly folder: string;
  /** Asks by curl, as somebody at 127.0.0.2. */
  ask(
    url: string,
    options?: { readonly version?: string; readonly headers?: object; readonly body?: string },
  ): Promise<{ status: number; version: string; headers: string; text: string }>;
}

/** Starts a proxy with its blocks of the manual; it ends with the test. */
export async function startProxy(
  program: Program,
  at: Ports,
  { signsIn = false, files = {} }: { signsIn?: boolean; files?: Record<string, string> } = {},
): Promise<Proxy> {
  const folder = temporaryFolder();
  makeCertificate(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  // The block of a standby takes the place of the one for events.
  const isOfTwo = (text: string) => text.includes('upstream ');
  const all = blocksOf(program).filter((text) => isOfTwo(text) === (at.second !== undefined));
  const [first = ''] = all.filter((text) => !text.includes('auth_request'));
  const above = first.match(/^ *(?:listen|server_name|ssl_|SSL|Protocols).*$/gm) ?? [];
  const blocks = all
    .filter((text) => text.includes('auth_request') === signsIn)
    .map((text) =>
      replaced(text.replaceAll(/^ *# .* as (?:above|there)$/gm, above.join('\n')), at, folder),
    );
  const file = join(folder, 'configuration');
  writeFileSync(file, WRAPPED[program](blocks.join('\n'), at, folder));
  const child = spawn(BINARY[program], ARGUMENTS[program](file), {
    env: { ...ENV, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said: Buffer[] = [];
  child.stdout.on('data', (part) => said.push(part));
  child.stderr.on('data', (part) => said.push(part));
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  const ask: Proxy['ask'] = async (url, { version = '1.1', headers = {}, body } = {}) => {
    const bodyFile = join(folder, 'sent');
    if (body !== undefined) writeFileSync(bodyFile, body);
    const { host } = new URL(url);
    const { stdout } = await promisify(execFile)(
      'curl',
      [
        ...['-sSk', `--http${version}`, '--interface', '127.0.0.2', '--max-time', '30'],
        ...['--resolve', `${host}:127.0.0.1`, '-D', '-', '-w', '\n%{http_code} %{http_version}'],
        ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
        ...(body === undefined ? [] : ['--data-binary', `@${bodyFile}`]),
        url,
      ],
      { maxBuffer: 1e7 },
    );
    const [, head = '', text = '', status, over = ''] =
      /^(.*?)\r\n\r\n(.*)\n(\d+) ([\d.]+)$/s.exec(stdout) ?? [];
    return { status: Number(status), version: over, headers: head, text };
  };
  await until(`${program} to listen`, async () => {
    if (child.exitCode !== null) throw new Error(`${program}: ${Buffer.concat(said)}`);
    const probe = ask(`https://${EVENTS_NAME}:${at.proxy}/`).catch(() => undefined);
    return (await probe)?.status || undefined;
  });
  return { folder, ask };
}
