import { describe, expect, it } from 'vitest';
import { canonicalJson, hashWithTexts, memberTwice, readable, sha256 } from '../../src/lib/json.ts';

describe('a member that stands twice in its object', () => {
  it.each([
    ['at the top', '{"a": 1, "b": 2, "a": 1}', 'a'],
    ['further in', '{"lines": [{"q": 1}, {"b": [0, {}], "q": {"x": 2}, "q": 3}]}', 'lines[1].q'],
    ['spelled otherwise', '{"a": 1, "\\u0061": 2}', 'a'],
    ['behind a text with quotes and backslashes', '{"x": "\\\\\\"\\\\", "a": 1, "a": 2}', 'a'],
    ['in a list of lists', '[[], [1, [{"a": 1, "a": 2}]]]', '[1][1][0].a'],
    ['that has no name', '{"": 1, "": 2}', ''],
  ])('is named: %s', (_, json, path) => {
    JSON.parse(json);
    expect(memberTwice(json)).toBe(path);
  });

  it.each([
    ['the same name in other objects', '{"a": {"b": 1}, "b": [{"a": 1}, {"a": 2}]}'],
    ['names within texts', '{"a": "{\\"a\\": 1, \\"a\\": 2}", "b": ["a", "a", ":", "}"]}'],
    ['no object', '"a: a"'],
    ['what every object has', '{"constructor": 1, "__proto__": 2}'],
  ])('is not seen in %s', (_, json) => {
    JSON.parse(json);
    expect(memberTwice(json)).toBeUndefined();
  });
});

describe('the hash of a value with large parts', () => {
  it('is that of its canonical JSON, though the text of a part is not written again', () => {
    const [part, other] = [{ b: 2, a: [{ '10': 1, '9': 2 }] }, { a: 'text' }];
    const value = { z: part, y: [other, part, null], x: { part, none: undefined } };
    const texts = new Map([part, other].map((one) => [one, canonicalJson(one)]));
    expect(hashWithTexts(value, texts)).toBe(sha256(canonicalJson(value)));
    const mark = `text ${'0'.repeat(64)}`;
    expect(hashWithTexts([mark, part], texts)).toBe(sha256(canonicalJson([mark, part])));
  });
});

it('half a character among many backslashes is found without a long search', () => {
  const slashes = '\\'.repeat(80_000);
  const text = JSON.stringify({ a: slashes, b: '\ud83d', c: '\ud83d\ude00' });
  const before = process.cpuUsage();
  const shown: unknown = JSON.parse(readable(text));
  expect(shown).toEqual({ a: slashes, b: '\ufffd', c: '\ud83d\ude00' });
  // Milliseconds where each backslash is looked at once, and half a minute where each is begun at.
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(2_000);
});
