/** Lists every setting with its default and the comment above it in the default file. */
import { readFileSync } from 'node:fs';
import { isMap, isScalar, type Pair, parseDocument } from 'yaml';
import { invariant } from '../lib/errors.ts';
import { DEFAULT_FILE } from './load.ts';

export interface Setting {
  /** Dotted path of the setting: `service.v1.baseUrl`. */
  readonly path: string;
  readonly about: string;
  /** Default value as the file writes it; undefined for a section. */
  readonly preset: string | undefined;
}

function words(comment: string | null | undefined): string {
  const lines = (comment ?? '').split('\n').map((line) => line.trim());
  // Only the part after the last blank line belongs to the setting; before it come the head of the
  // file and a section's own comment.
  return lines.slice(lines.lastIndexOf('') + 1).join(' ');
}

function settingsOf(pairs: readonly Pair[], before: string, first: string): Setting[] {
  return pairs.flatMap(({ key, value }, index) => {
    invariant(isScalar(key), 'a key of the default file is a scalar');
    const path = before === '' ? String(key.value) : `${before}.${String(key.value)}`;
    const about = words(key.commentBefore) || (index === 0 ? first : '');
    if (!isMap(value) || value.flow === true) {
      return [{ path, about, preset: String(value) }];
    }
    const inner = settingsOf(value.items, path, words(value.commentBefore));
    return [{ path, about, preset: undefined }, ...inner];
  });
}

/** Lists settings in the order of the file; a section comes before the settings in it. */
export function readSettings(): Setting[] {
  const { contents } = parseDocument(readFileSync(DEFAULT_FILE, 'utf8'));
  invariant(isMap(contents), 'the default file is a map');
  return settingsOf(contents.items, '', words(contents.commentBefore));
}
