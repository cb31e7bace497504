/** The facts as docs/facts.md lists them: that page, and no code, says what there is. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../../support/source.ts';

export type Kind =
  | 'text'
  | 'choice'
  | 'whole number'
  | 'number'
  | 'amount'
  | 'true/false'
  | 'duration'
  | 'point in time'
  | 'list of texts';

export interface Fact {
  readonly path: string;
  readonly kind: Kind;
  readonly mayBeUnknown: boolean;
  /** Values of a choice. */
  readonly values: readonly string[];
  /** The fact that names the currency of an amount. */
  readonly currency: string;
}

const KINDS: readonly (readonly [RegExp, Kind])[] = [
  [/^text$/, 'text'],
  [/^one of /, 'choice'],
  [/^whole number/, 'whole number'],
  [/^(percent|number)/, 'number'],
  [/^amount/, 'amount'],
  [/^true\/false$/, 'true/false'],
  [/^duration$/, 'duration'],
  [/^point in time$/, 'point in time'],
  [/^list of texts$/, 'list of texts'],
];

const ROW = /^\| `([\w.]+)` (\*\*\?\*\* )?\| ([^|]+) \|/gm;

/** All but the groups and the list of lines, whose members are facts themselves. */
export function readFacts(): readonly Fact[] {
  const page = readFileSync(join(repositoryRoot, 'docs/facts.md'), 'utf8');
  return [...page.matchAll(ROW)].flatMap(([, path = '', unknown, written = '']) => {
    const kind = KINDS.find(([form]) => form.test(written))?.[1];
    if (kind === undefined) return [];
    const values = kind === 'choice' ? written.replace('one of ', '').split(', ') : [];
    const currency = kind === 'amount' ? (/\((.+)\)/.exec(written)?.[1] ?? '') : '';
    return [{ path, kind, mayBeUnknown: unknown !== undefined, values, currency }];
  });
}
