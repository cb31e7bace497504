/** Each promise of docs/internals/promises.md has a test, which is there under that name. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { filesBelow, repositoryRoot } from '../support/source.ts';

const NUMBERED = Array.from({ length: 18 }, (_, index) => String(index + 1));
const RECEIVING = Array.from({ length: 14 }, (_, index) => `R${index + 1}`);
const LIMITS = Array.from({ length: 10 }, (_, index) => `L${index + 1}`);

const page = readFileSync(join(repositoryRoot, 'docs/internals/promises.md'), 'utf8');
const tests = new Map(filesBelow('test', ['.test.ts']).map(({ path, text }) => [path, text]));

interface Row {
  readonly id: string;
  readonly named: readonly { readonly file: string; readonly sentence: string }[];
}

const rows: Row[] = [...page.matchAll(/^\| ([RL]?\d+) \|.*\| (.*) \|$/gm)].map((match) => ({
  id: match[1] ?? '',
  named: [...(match[2] ?? '').matchAll(/`(test\/[^`]+)`: "([^"]+)"/g)].map((test) => ({
    file: test[1] ?? '',
    sentence: test[2] ?? '',
  })),
}));

describe('the table of promises', () => {
  it('has every promise', () => {
    expect(rows.map(({ id }) => id)).toEqual([...NUMBERED, ...RECEIVING, ...LIMITS]);
  });

  it('names a test for each, by a file and a sentence that exist', () => {
    expect(rows.filter(({ named }) => named.length === 0)).toEqual([]);
    const missing = rows.flatMap(({ id, named }) =>
      named
        .filter(({ file, sentence }) => !(tests.get(file) ?? '').includes(sentence))
        .map(({ file, sentence }) => `${id}: ${file}: ${sentence}`),
    );
    expect(missing).toEqual([]);
  });

  it('has a test that is marked with each promise about receiving', () => {
    const marks = [...tests.values()]
      .flatMap((text) => [...text.matchAll(/\(((?:[RL]\d+(?:, )?)+)\)/g)])
      .flatMap(([, ids = '']) => ids.split(', '));
    expect([...RECEIVING, ...LIMITS].filter((id) => !marks.includes(id))).toEqual([]);
  });
});
