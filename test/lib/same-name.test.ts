import { assert, constantFrom, property, string, tuple } from 'fast-check';
import { expect, it } from 'vitest';
import { nameKey, spellingIn, spellingsOf } from '../../src/lib/strings.ts';

it.each([
  ['HW28', ['SS28', 'HW28 '], 'HW28 '],
  [' HW28', ['HW28'], 'HW28'],
  ['Été', ['E\u0301te\u0301'], 'E\u0301te\u0301'],
  ['HW28', ['HW28 ', 'HW28'], 'HW28'],
  // Nobody knows which of both it is.
  ['HW28', ['HW28 ', ' HW28'], undefined],
  ['HW28', ['hw28'], undefined],
  ['HW 28', ['HW28'], undefined],
])('%j among %j is %j', (name, names, found) => {
  expect(spellingIn(name, names)).toBe(found);
});

it('asks for every spelling that has one space around it, in either form', () => {
  const around = tuple(constantFrom('', ' '), string({ unit: 'grapheme' }), constantFrom('', ' '));
  assert(
    property(around, constantFrom('NFC', 'NFD'), ([before, name, behind], form) => {
      const own = nameKey(name);
      const asked = spellingsOf(own);
      expect(asked).toContain(before + own.normalize(form) + behind);
      for (const spelt of asked) expect(nameKey(spelt)).toBe(own);
    }),
  );
});
