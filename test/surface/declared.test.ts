/** Acts and lists are declared once: whatever goes around the declarations is named here. */
import { describe, expect, it } from 'vitest';
import { ACTS } from '../../src/console/surface/registry.ts';
import { filesBelow } from '../support/source.ts';

const sources = filesBelow('src', ['.ts']).filter(({ path }) => !path.startsWith('src/reference/'));

function filesWith(pattern: RegExp): string[] {
  return sources.filter(({ text }) => pattern.test(text)).map(({ path }) => path);
}

describe('an act', () => {
  // A name without a noun, such as `pause`, is a word of its own in other places.
  const names = ACTS.map(({ name }) => name).filter((name) => name.includes('.'));

  it.each(names)('%s is named in three files at the most', (name) => {
    const named = filesWith(new RegExp(`['"\`/]${name.replaceAll('.', '\\.')}['"\`]`));
    expect(named.length, named.join(', ')).toBeLessThanOrEqual(3);
  });
});
