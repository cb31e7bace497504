/**
 * Checks the folder that the ERP drops files into: whether both sides may write in it, and whether
 * its files can be taken.
 */
import { accessSync, constants, type Dirent, readdirSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/schema.ts';
import { isToBeTaken, leftAlone } from '../../outbox/intake/folder-scan.ts';
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

/** Whether this user may not read the file; a file that was taken meanwhile does not count. */
function isClosed(path: string): boolean {
  return !may(path, R_OK) && statSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Lists entries that are named like files to take, and that the daemon can never take. */
function stayingIn(found: readonly Dirent[], folder: string): string[] {
  return found
    .filter(({ name }) => isToBeTaken(name))
    .filter((one) => !one.isFile() || isClosed(join(folder, one.name)))
    .map(({ name }) => name);
}

/** Lists files that are not taken for their names, and have not changed for a while. */
function strangersIn(found: readonly Dirent[], folder: string, now: number): string[] {
  return found
    .filter((one) => one.isFile())
    .map(({ name }) => name)
    .filter((name) => {
      const info = statSync(join(folder, name), { throwIfNoEntry: false });
      return info && leftAlone(name, Math.abs(now - info.mtimeMs)) !== undefined;
    });
}

function some(names: readonly string[]): string {
  return names.slice(0, NAMES_SHOWN).join(', ');
}

function checkModes(dataDir: string, folder: string, { mode, gid }: Stats): Finding | undefined {
  if ((mode & OTHERS) !== 0) {
    const advice = `chmod o= ${folder}; its group alone drops files (docs/erp-integration.md)`;
    return odd('drop folder', `other users may open ${folder}`, advice);
  }
  // A folder closed to its group, or of the data folder's group, is one user's.
  const isShared =
    (mode & GROUP_ENTERS) !== 0 && gid !== statSync(dataDir, { throwIfNoEntry: false })?.gid;
  if (!isShared || (mode & GROUP_WRITES) !== 0) return undefined;
  return odd('drop folder', `the group of ${folder} may not write in it`, `chmod g+w ${folder}`);
}

type Place = Pick<Config, 'dataDir' | 'intake'>;

/** Checks the drop folder, if the configuration has one. @param now epoch milliseconds */
export function checkDropFolder({ dataDir, intake }: Place, now: number): Finding[] {
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
  const found = readdirSync(folder, { withFileTypes: true });
  const staying = stayingIn(found, folder);
  const strangers = strangersIn(found, folder, now);
  const findings: Finding[] = modes ? [modes] : [];
  if (staying.length > 0) {
    const text = `${staying.length} cannot be read, or are no files, and stay: ${some(staying)}`;
    const advice = 'chmod g+r what the ERP writes (umask 027); the log of the daemon says more';
    findings.push(odd('drop folder', text, advice));
  }
  if (strangers.length > 0) {
    const text = `${strangers.length} are not taken, for their names: ${some(strangers)}`;
    const advice = 'rename them so that they end in .json and do not begin with a dot';
    findings.push(odd('drop folder', text, advice));
  }
  if (findings.length > 0) return findings;
  return [fine('drop folder', `${folder}, may be written`)];
}
