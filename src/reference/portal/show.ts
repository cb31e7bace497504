/** Answers with pages, and tells what an action did. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RefusedError } from '../../lib/errors.ts';
import { type Html, html, renderHtml } from '../../lib/html.ts';
import { portalPage } from './pages/layout.ts';

/**
 * Messages after an action, by the word in the redirect's address, which never contains free text.
 */
const DONE = {
  added: 'The endpoint was added. Its signing secret is shown below.',
  saved: 'Saved.',
  enabled: 'The endpoint is enabled. What it missed can be recovered below.',
  disabled: 'The endpoint is disabled: nothing is sent there.',
  deleted: 'The endpoint was deleted.',
  rotated: 'The secret was rotated. Both secrets sign for the next 24 hours.',
  sent: 'The example was sent.',
  resent: 'The message was sent again.',
  recovered: 'What failed is being sent again.',
  replayed: 'What was never sent is being sent now.',
  nothing: 'There was nothing to send again.',
} as const;

export type Done = keyof typeof DONE;

/** Filters of a page as they are in its address. */
export function queryOf({ url }: FastifyRequest): URLSearchParams {
  return new URL(url, 'http://portal').searchParams;
}

/** Fields of a form that was sent. */
export function formOf({ body }: FastifyRequest): URLSearchParams {
  return body instanceof URLSearchParams ? body : new URLSearchParams();
}

function doneText(word: string | null): string | undefined {
  return Object.entries(DONE).find(([known]) => known === word)?.[1];
}

export function send(reply: FastifyReply, page: Html): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(renderHtml(page));
}

/** Answers with a page; `place` has its title and its entry of the navigation. */
export function showPage(
  request: FastifyRequest,
  reply: FastifyReply,
  [title, section]: readonly [title: string, section: string],
  content: Html,
): FastifyReply {
  const done = doneText(queryOf(request).get('done'));
  return send(reply, portalPage({ title, section, done }, content));
}

/** Redirects after an action, to a page that says what was done. */
export function showDone(reply: FastifyReply, path: string, done: Done): FastifyReply {
  const [page = path, anchor] = path.split('#');
  const joint = page.includes('?') ? '&' : '?';
  return reply.redirect(`${page}${joint}done=${done}${anchor ? `#${anchor}` : ''}`, 303);
}

export function showError(
  error: unknown,
  _request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const refused = error instanceof RefusedError ? error : undefined;
  const status = refused?.code.endsWith('_unknown') ? 404 : 400;
  reply.code(refused ? status : 500);
  const title = refused ? refused.message : 'The relay made a mistake';
  const content = html`<h1>${title}</h1><p class="lead">${refused?.hint}</p>
<p><a href="/portal/">Back to the endpoints</a></p>`;
  return send(reply, portalPage({ title, section: '' }, content));
}
