/**
 * Makes what a release consists of: `npm run package [-- folder]` writes the npm tarball, the .deb,
 * the list of parts (SPDX) and the checksums. Needs node and npm alone, and no root.
 *
 * The same sources give the same bytes: all times are SOURCE_DATE_EPOCH, else that of the commit.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { debianPackage } from './package/debian.ts';
import { type Described, debianTree } from './package/tree.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const [, , named] = process.argv;
const folder = resolve(named ?? join(root, 'packages'));
if (named && existsSync(folder)) throw new Error(`${folder} is there already: name a new one`);

const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex');

function sourceDate(): number {
  const given = process.env.SOURCE_DATE_EPOCH;
  if (given !== undefined && /^\d+$/.test(given)) return Number(given);
  const args = ['log', '-1', '--format=%ct'];
  return Number(execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim());
}

function npm(...args: readonly string[]): string {
  return execFileSync('npm', args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 64 * 1_024 * 1_024,
  });
}

/** npm gives each list a random name and the time of day. */
function partsList(seconds: number): string {
  const listed = npm('sbom', '--sbom-format', 'spdx', '--omit', 'dev', '--package-lock-only');
  const sbom: Record<string, unknown> & { creationInfo: Record<string, unknown> } =
    JSON.parse(listed);
  sbom.creationInfo.created = new Date(seconds * 1_000).toISOString().replace('.000Z', 'Z');
  sbom.creationInfo.creators = ['Tool: npm'];
  sbom.documentNamespace = '';
  const name = sha256(JSON.stringify(sbom));
  sbom.documentNamespace = `https://spdx.org/spdxdocs/selvedge-${name}`;
  return `${JSON.stringify(sbom, null, 2)}\n`;
}

const seconds = sourceDate();
const described: Described = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const { version } = described;
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
// The project's .npmrc keeps scripts of packages from running, and our own `prepack` with them.
npm('pack', '--ignore-scripts=false', '--foreground-scripts=false', '--pack-destination', folder);
writeFileSync(join(folder, `selvedge-${version}.spdx.json`), partsList(seconds));
const deb = debianPackage(described, debianTree(root, described, seconds), seconds);
writeFileSync(join(folder, `selvedge_${version}_amd64.deb`), deb);
const names = readdirSync(folder).sort();
const sums = names.map((name) => `${sha256(readFileSync(join(folder, name)))}  ${name}\n`);
writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''));
process.stdout.write(sums.join(''));
