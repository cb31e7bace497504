/** Each promise of docs/internals/events.md has a test whose title names it. */
import { expect, it } from 'vitest';
import { filesBelow } from '../support/source.ts';

it('every promise about receiving is named by a test', () => {
  const [page] = filesBelow('docs', ['.md']).filter(({ path }) => path.endsWith('events.md'));
  const promised = [...(page?.text ?? '').matchAll(/^\| ([RL]\d+) \|/gm)].map(([, id]) => id);
  expect(promised).toHaveLength(24);
  const titles = filesBelow('test', ['.ts'])
    .flatMap(({ text }) => [...text.matchAll(/\(((?:[RL]\d+(?:, )?)+)\)/g)])
    .flatMap(([, ids = '']) => ids.split(', '));
  expect(promised.filter((id) => id !== undefined && !titles.includes(id))).toEqual([]);
});
