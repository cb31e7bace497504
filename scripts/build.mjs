// Compiles src/ from scratch, so that nothing of an earlier build is packed, and takes along what
// stands beside the sources (style sheets and scripts of the web pages).
//
// `node scripts/build.mjs [folder [option of the compiler]…]`: a new folder, or else dist, of which
// nothing is kept.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';

const root = dirname(import.meta.dirname);
const source = join(root, 'src');
const [named, ...options] = process.argv.slice(2);
const folder = resolve(named ?? join(root, 'dist'));
if (named && existsSync(folder)) throw new Error(`${folder} is there already: name a new one`);

rmSync(folder, { recursive: true, force: true });
const manifest = createRequire(import.meta.url).resolve('typescript/package.json');
const compiler = join(dirname(manifest), 'bin', 'tsc');
const args = [compiler, '-p', join(root, 'tsconfig.build.json'), '--outDir', folder, ...options];
execFileSync(process.execPath, args, { stdio: 'inherit' });
cpSync(source, folder, {
  recursive: true,
  filter: (path) => statSync(path).isDirectory() || !path.endsWith('.ts'),
});
