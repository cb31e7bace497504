/**
 * Writes a configuration file of an earlier version with the present names of its settings. Its
 * comments and their order stay, and what it means; the file that is replaced stays beside it.
 *
 * A file with mistakes is refused as a start refuses it. What goes wrong while writing leaves the
 * old file.
 */
import {
  chownSync,
  closeSync,
  fchmodSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isMap, isScalar, type Scalar } from 'yaml';
import { ConfigError, errorCode, invariant } from '../lib/errors.ts';
import { parseYaml } from '../lib/yaml.ts';
import { changedSettings } from './changes.ts';
import { type LoadOptions, readConfig, requireConfig } from './load.ts';
import { replaceOldNames } from './old-names.ts';
import type { ConfigProblem } from './problems.ts';

export interface Migration {
  /** Text of the file as it is to be. */
  readonly text: string;
  /** Old names in the file as it is; none: there is nothing to do. */
  readonly oldNames: readonly ConfigProblem[];
}

/**
 * Gives comments back to the setting that they stand above. The parser takes all comments behind
 * the last setting of a section for the section's own, whatever their indentation.
 */
function giveBack(section: unknown, next: Scalar | undefined, text: string): void {
  if (!isMap(section)) return;
  for (const [index, { value }] of section.items.entries()) {
    const following = section.items[index + 1]?.key;
    giveBack(value, isScalar(following) ? following : next, text);
  }
  const lines = text.slice(0, next?.range?.[0]).split('\n');
  const indent = lines.pop() ?? '';
  const isAbove = (line: string): boolean => line.trim() === '' || line.startsWith(`${indent}#`);
  const above = lines.slice(lines.findLastIndex((line) => !isAbove(line)) + 1);
  const count = above.filter((line) => line.trim() !== '').length;
  const own = section.comment?.split('\n') ?? [];
  if (next === undefined || count === 0 || own.length === 0) return;
  const places = own.flatMap((line, index) => (line === '' ? [] : [index]));
  const start = places.at(-count) ?? 0;
  next.commentBefore = own.slice(start).join('\n');
  next.spaceBefore = own[start - 1] === '';
  section.comment = own.slice(0, start).join('\n').trimEnd() || null;
}

/** Gives the file of the options with present names; throws a ConfigError if it has mistakes. */
export function migrated(options: LoadOptions): Migration {
  const { config } = requireConfig(options);
  const { oldNames, defaults } = readConfig(options);
  const written = readFileSync(options.file, 'utf8');
  if (oldNames.length === 0) return { text: written, oldNames };
  const before = written.replaceAll('\r\n', '\n');
  const { document } = parseYaml(before);
  giveBack(document.contents, undefined, before);
  replaceOldNames(document, before, defaults);
  const fresh = document.toString({ lineWidth: 0 });
  const text = written === before ? fresh : fresh.replaceAll('\n', '\r\n');
  const after = requireConfig({ ...options, text });
  const changed = changedSettings(config, after.config);
  invariant(changed.length === 0, `the new file would mean the same (${changed.join(', ')})`);
  return { text, oldNames };
}

/** Replaces a file at once, and keeps its mode and owner; returns where the old one is. */
export function replaceFile(named: string, text: string): string {
  const file = realpathSync(named);
  const old = `${file}.old`;
  const draft = join(dirname(file), `.${basename(file)}.new`);
  const { mode, uid, gid } = statSync(file);
  try {
    rmSync(draft, { force: true });
    const descriptor = openSync(draft, 'wx', 0o600);
    try {
      writeFileSync(descriptor, text);
      fchmodSync(descriptor, mode);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    chownSync(draft, uid, gid);
    linkSync(file, old);
    renameSync(draft, file);
    return old;
  } catch (thrown) {
    rmSync(draft, { force: true });
    const code = errorCode(thrown);
    const isThere = code === 'EEXIST';
    const what = isThere ? `${old} exists` : `${file} cannot be replaced (${code})`;
    const own = 'run it as the owner of the file, or write what --dry-run prints';
    const hint = isThere ? 'it is an older file: move it away' : own;
    throw new ConfigError('config.not_replaced', what, { hint });
  }
}
