/**
 * HTML template tag that escapes by default. Values of the service, of webhooks and of people are
 * hostile text; only another {@link html} template inserts markup. Attributes must be quoted, and
 * an outside URL must not become a link (escaping does not make `javascript:` harmless).
 */

const MARKUP: unique symbol = Symbol('html');

/** HTML markup. Its key is a symbol of this file, so that parsed JSON can never pass for it. */
export interface Html {
  readonly [MARKUP]: string;
}

/** Values in a template: text and numbers are escaped; false, null and undefined are omitted. */
export type HtmlValue = Html | string | number | false | null | undefined | readonly HtmlValue[];

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes a text for HTML, also inside a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
}

function isList(value: HtmlValue): value is readonly HtmlValue[] {
  return Array.isArray(value);
}

function markupOf(value: HtmlValue): string {
  if (value === null || value === undefined || value === false) return '';
  if (typeof value === 'string') return escapeHtml(value);
  if (typeof value === 'number') return String(value);
  return isList(value) ? value.map(markupOf).join('') : value[MARKUP];
}

export function html(parts: TemplateStringsArray, ...values: HtmlValue[]): Html {
  const markup = parts.reduce((out, part, index) => out + markupOf(values[index - 1]) + part);
  return { [MARKUP]: markup };
}

/** Gives the HTML text to send, with content type `text/html; charset=utf-8`. */
export function renderHtml(page: Html): string {
  return page[MARKUP];
}
