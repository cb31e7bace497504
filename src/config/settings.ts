/** Every setting with its default and the words of the default file above it. */
import { readFileSync } from 'node:fs';
import { isMap, isScalar, type Pair, parseDocument } from 'yaml';
import { invariant } from '../lib/errors.ts';
import { DEFAULT_FILE } from './load.ts';

export interface Setting {
  /** `service.v1.baseUrl`. */
  readonly path: string;
  readonly about: string;
  /** The default as the file has it; undefined for a section. */
  readonly preset: string | undefined;
}

function words(comment: string | null | undefined): string {
  const lines = (comment ?? '').split('\n').map((line) => line.trim());
  // A blank line ends what was said before: the head of the file, a section's own words.
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

/** In the order of the file; a section comes before what is in it. */
export function readSettings(): Setting[] {
  const { contents } = parseDocument(readFileSync(DEFAULT_FILE, 'utf8'));
  invariant(isMap(contents), 'the default file is a map');
  return settingsOf(contents.items, '', words(contents.commentBefore));
}
