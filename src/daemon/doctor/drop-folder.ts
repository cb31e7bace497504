/** The folder that the ERP drops files into: may both write in it, and can its files be taken? */
import { accessSync, constants, readdirSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/schema.ts';
import { bad, type Finding, fine, odd } from './finding.ts';

const { R_OK, W_OK, X_OK } = constants;
const OTHERS = 0o007;
const GROUP_ENTERS = 0o010;
const GROUP_WRITES = 0o020;
const NAMES_SHOWN = 3;

function may(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

/** A file that was taken meanwhile is not closed. */
function isClosed(path: string): boolean {
  return !may(path, R_OK) && statSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** What looks like a file for the daemon, and stays there. */
function stayingIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => name.endsWith('.json') && !name.startsWith('.'))
    .filter((one) => !one.isFile() || isClosed(join(folder, one.name)))
    .map(({ name }) => name);
}

function checkModes(dataDir: string, folder: string, { mode, gid }: Stats): Finding | undefined {
  if ((mode & OTHERS) !== 0) {
    const advice = `chmod o= ${folder}; its group alone drops files (docs/erp-integration.md)`;
    return odd('drop folder', `other users may open ${folder}`, advice);
  }
  // Closed to its group, or of the data folder's, it is of one user for both.
  const isShared =
    (mode & GROUP_ENTERS) !== 0 && gid !== statSync(dataDir, { throwIfNoEntry: false })?.gid;
  if (!isShared || (mode & GROUP_WRITES) !== 0) return undefined;
  return odd('drop folder', `the group of ${folder} may not write in it`, `chmod g+w ${folder}`);
}

type Place = Pick<Config, 'dataDir' | 'intake'>;

export function checkDropFolder({ dataDir, intake }: Place): Finding[] {
  const folder = intake.folder.path;
  if (folder === null) return [];
  const stat = statSync(folder, { throwIfNoEntry: false });
  if (!stat) {
    const advice = 'make it, for a group of both (docs/install.md), or correct intake.folder.path';
    return [bad('drop folder', `${folder} is not there`, advice)];
  }
  if (!may(folder, R_OK | W_OK | X_OK)) {
    const text = `this user may not write in ${folder}: no file is taken`;
    return [bad('drop folder', text, 'look at owner, group and mode (docs/install.md)')];
  }
  const modes = checkModes(dataDir, folder, stat);
  if (modes) return [modes];
  const staying = stayingIn(folder);
  if (staying.length === 0) return [fine('drop folder', `${folder}, may be written`)];
  const names = staying.slice(0, NAMES_SHOWN).join(', ');
  const text = `${staying.length} cannot be read, or are no files, and stay: ${names}`;
  const advice = 'chmod g+r what the ERP writes (umask 027); the log of the daemon says more';
  return [odd('drop folder', text, advice)];
}
