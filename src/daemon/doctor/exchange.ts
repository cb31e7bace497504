/**
 * Checks exchange.db, which the ERP writes: whether it is there, whether both sides may write it,
 * and whether the daemon would take it.
 */
import { accessSync, constants, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../../config/schema.ts';
import { systemClock } from '../../lib/clock.ts';
import { RetryLaterError } from '../../lib/errors.ts';
import { EXCHANGE_MODE, exchangeFile, inspectExchange } from '../../store/exchange/exchange.ts';
import { bad, type Finding, fine, odd } from './finding.ts';
import { namesOfStrangers } from './machine.ts';

const OTHERS = 0o007;
const GROUP_ENTERS = 0o010;
const GROUP_WRITES = 0o020;

function mayWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function checkModes({ dataDir }: Config, path: string, mode: number): Finding[] {
  const found: Finding[] = [];
  if ((mode & OTHERS) !== 0) {
    found.push(odd('exchange', `other users may open ${path}`, `chmod o= ${path}`));
  }
  const folder = dirname(path);
  const folderMode = statSync(folder).mode;
  const isShared = (folderMode & GROUP_ENTERS) !== 0;
  // Members of the data folder's own group are let in to read only.
  if (isShared && folder !== dataDir && (folderMode & GROUP_WRITES) === 0) {
    // SQLite creates its journal beside the file.
    found.push(
      odd('exchange', `the group of ${folder} may not write in it`, `chmod g+w ${folder}`),
    );
  }
  if (isShared && (mode & EXCHANGE_MODE) !== EXCHANGE_MODE) {
    found.push(odd('exchange', `the group of ${path} may not write it`, `chmod 660 ${path}`));
  }
  return found;
}

export function checkExchange(config: Config): Finding[] {
  const path = exchangeFile(config);
  const folder = dirname(path);
  if (!statSync(folder, { throwIfNoEntry: false })) {
    // A missing data folder is reported by its own check, and needs no group.
    if (folder === config.dataDir) return [];
    const advice = 'make it, for a group of both (docs/install.md), or correct intake.database';
    return [bad('exchange', `the folder of ${path} is not there`, advice)];
  }
  const stat = statSync(path, { throwIfNoEntry: false });
  // SQLite creates its journal beside the file, so the folder must be writable, too.
  const closed = [folder, ...(stat ? [path] : [])].filter((one) => !mayWrite(one));
  if (closed.length > 0) {
    const text = `this user may not write ${closed.join(', ')}`;
    return [bad('exchange', text, 'look at owner, group and mode (docs/install.md)')];
  }
  if (!stat || stat.size === 0) {
    const text = `${path} is ${stat ? 'empty' : 'not there'}: the ERP cannot submit by it`;
    return [odd('exchange', text, 'the daemon makes it, or says in its log why it cannot')];
  }
  const modes = checkModes(config, path, stat.mode);
  try {
    inspectExchange(path, systemClock());
  } catch (error) {
    if (!(error instanceof RetryLaterError)) throw error;
    const advice = error.hint ?? 'keep it; stop the daemon, move it away, start: a new one is made';
    const grade = error.code === 'exchange.busy' ? odd : bad;
    return [...modes, grade('exchange', error.message, advice)];
  }
  const names = process.platform === 'linux' ? namesOfStrangers(path, config.dataDir) : '';
  const open = names === '' ? '' : `, open in ${names}`;
  return modes.length > 0 ? modes : [fine('exchange', `${path}, whole and ours${open}`)];
}
