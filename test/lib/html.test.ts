import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escapeHtml, html, renderHtml } from '../../src/lib/html.ts';

describe('the html tag', () => {
  it('escapes text and leaves markup of its own alone', () => {
    const item = (name: string) => html`<li title="${name}">${name}</li>`;
    const list = html`<ul>${['a&b', '"><script>'].map(item)}</ul>${3}${false}${null}${undefined}`;
    expect(renderHtml(list)).toBe(
      '<ul><li title="a&amp;b">a&amp;b</li>' +
        '<li title="&quot;&gt;&lt;script&gt;">&quot;&gt;&lt;script&gt;</li></ul>3',
    );
  });

  it('never lets a text end its element or its quoted attribute', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(escapeHtml(text)).not.toMatch(/[<>"']/);
        expect(renderHtml(html`${text}`)).toBe(escapeHtml(text));
      }),
    );
  });

  it('takes no markup from parsed JSON', () => {
    const hostile = JSON.parse('{"html":"<script>","markup":"<script>"}');
    expect(() => renderHtml(html`<p>${hostile.html}</p>${hostile}`)).not.toThrow();
    expect(renderHtml(html`${hostile.html}`)).toBe('&lt;script&gt;');
    expect(renderHtml(html`${hostile}`)).not.toContain('<script>');
  });
});
