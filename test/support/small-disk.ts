/** A disk that can be filled up, in memory. */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from './store.ts';

/** The folder of a file system of 12 MiB; undefined where this user may not mount one. */
export function mountSmallDisk(filesMax = 1_000): string | undefined {
  const folder = join(temporaryFolder(), 'disk');
  mkdirSync(folder);
  try {
    const options = `size=12m,nr_inodes=${filesMax}`;
    const mount = ['-t', 'tmpfs', '-o', options, 'tmpfs', folder];
    execFileSync('/bin/mount', mount, { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  onTestFinished(() => {
    execFileSync('/bin/umount', ['-l', folder]);
  });
  return folder;
}
