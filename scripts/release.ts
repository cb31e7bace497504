/**
 * Freezes the version of package.json: `npm run release`. Makes its databases once more and writes
 * the checksums of its migrations, which from then on a test guards. Commits nothing.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readMigrations } from '../src/store/migrate.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (name: string): string => readFileSync(join(root, name), 'utf8');

interface Versioned {
  readonly version: string;
}

const { version }: Versioned = JSON.parse(read('package.json'));
const locked: Versioned = JSON.parse(read('package-lock.json'));
const hasDate = read('CHANGELOG.md')
  .split('\n')
  .some((line) => line.startsWith(`## ${version} `) && /\d{4}-\d{2}-\d{2}$/.test(line));
const changed = execFileSync('git', ['status', '--porcelain'], { cwd: root, encoding: 'utf8' });

if (locked.version !== version) throw new Error(`package-lock.json names ${locked.version}`);
if (!hasDate) throw new Error(`the entry of ${version} in CHANGELOG.md has no date`);
if (changed !== '') throw new Error(`commit these first:\n${changed}`);

const releases = 'test/store/releases';
execFileSync(process.execPath, [join(root, releases, 'make.ts')], { stdio: 'inherit' });
const sums = ['migrations', 'migrations/exchange'].flatMap((folder) =>
  readMigrations(join(root, folder)).map(
    ({ version: number, name, checksum }) =>
      `${checksum}  ${folder}/${String(number).padStart(4, '0')}-${name}.sql\n`,
  ),
);
writeFileSync(join(root, releases, `${version}.sha256`), sums.join(''));
process.stdout.write(`${version} is frozen. Next:
  git add ${releases} && git commit -m 'Release ${version}' && git tag v${version}
  npm run package
`);
