/** `npm run bench`: every benchmark of this folder, one after the other, with its figures. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const names = readdirSync(here).filter((name) => name.endsWith('.ts') && name !== 'run.ts');
let failed = 0;
for (const name of names.sort()) {
  console.log(`\n== ${name}`);
  const { status } = spawnSync(process.execPath, [here + name], { stdio: 'inherit' });
  if (status !== 0) failed += 1;
}
process.exitCode = failed === 0 ? 0 : 1;
