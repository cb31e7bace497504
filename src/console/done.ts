/**
 * Confirmations of acts, each shown once: on the next page of the session that acted. They are kept
 * in memory and never in an address, which anybody could write.
 */
import { type Html, html } from '../lib/html.ts';
import type { Given } from '../surface/given.ts';

export interface Notice {
  readonly text: string;
  /** Form that takes the act back. */
  readonly undo?: UndoForm | undefined;
}

interface UndoForm {
  readonly path: string;
  readonly button: string;
  readonly fields: Given;
}

export interface Notices {
  put(sessionId: number, notice: Notice): void;
  /** Gives the latest notice of the session, which is then forgotten; `here`: the page. */
  take(sessionId: number, here: string): Html | undefined;
}

/** Sessions whose notices are kept; those that never look again are forgotten first. */
const SESSIONS_MAX = 1_000;

function undoForm({ path, button, fields }: UndoForm, back: string): Html {
  const hidden = Object.entries({ ...fields, back }).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${String(value)}">`,
  );
  return html`<form method="post" action="${path}">${hidden}
<button class="small">${button} <kbd>z</kbd></button></form>`;
}

/** Address of this console to return to; an address that leads elsewhere becomes the start. */
export function backTo(back: string): string {
  const url = new URL(back.startsWith('/') && !back.startsWith('//') ? back : '/', 'http://here');
  // Two slashes at the beginning would lead to another host.
  return `${url.pathname.replace(/^\/+/, '/')}${url.search}`;
}

/** Page after an act on the open delivery of a list: the list with the next one open. */
export function withNext(back: string, next: string | undefined): string {
  if (next === undefined) return back;
  const url = new URL(back, 'http://here');
  if (next === '') url.searchParams.delete('open');
  else url.searchParams.set('open', next);
  return `${url.pathname}${url.search}`;
}

export function createNotices(): Notices {
  const notices = new Map<number, Notice>();
  return {
    put(sessionId, notice) {
      notices.delete(sessionId);
      notices.set(sessionId, notice);
      const [oldest] = notices.keys();
      if (notices.size > SESSIONS_MAX && oldest !== undefined) notices.delete(oldest);
    },
    take(sessionId, here) {
      const notice = notices.get(sessionId);
      if (!notice) return undefined;
      notices.delete(sessionId);
      return html`<p>${notice.text}</p>${notice.undo && undoForm(notice.undo, here)}`;
    },
  };
}
