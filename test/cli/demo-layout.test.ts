import { describe, expect, it } from 'vitest';
import { entries, rowsOf, textWidth, wrap } from '../../src/cli/demo/layout.ts';

describe('the text of the demo', () => {
  it('keeps its indent and breaks between words', () => {
    expect(wrap('  hold     a rule wants a person to look', 24, '           ')).toEqual([
      '  hold     a rule wants',
      '           a person to',
      '           look',
    ]);
    const path = '/a/folder/whose/name/is/longer/than/the/line';
    expect(wrap(`see ${path}`, 20)).toEqual(['see', path]);
  });

  it('gives a link the whole line where it does not fit behind the indent', () => {
    const link = `http://127.0.0.1:40205/sign-in?key=${'k'.repeat(43)}`;
    const indent = ' '.repeat(10);
    expect(wrap(`${indent}console  ${link}`, 79, indent)).toEqual([`${indent}console`, link]);
    expect(wrap(`${indent}console  ${link}`, 110, indent)).toEqual([`${indent}console  ${link}`]);
  });

  it('sets entries side by side as far as they fit, and tears none apart', () => {
    const lines = entries('streams  ', ['stock 20000, 3s old', 'season waits', 'orders 40'], 40);
    expect(lines).toEqual(['streams  stock 20000, 3s old', '         season waits · orders 40']);
  });

  it('is as wide as the terminal, and no wider than a person likes to read', () => {
    expect([60, 80, 200].map(textWidth)).toEqual([59, 79, 110]);
  });

  it('is counted in rows of a terminal that has become narrower', () => {
    expect(rowsOf(['─'.repeat(79), '', 'short'], 40)).toBe(4);
  });
});
