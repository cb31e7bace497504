/** Confirmation of the act that was just done, on the page to which the browser returns. */
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type Html, html } from '../lib/html.ts';

/** Query parameters that carry the confirmation from the act to the next page. */
const doneQuery = z.object({
  done: z.string().max(300).optional(),
  undo: z
    .string()
    .regex(/^\d{1,15}:\d{1,15}$/)
    .optional(),
});

/**
 * Address to return to, with the confirmation; `undo` names the delivery and the decision that an
 * undo button would undo.
 */
export function backTo(back: string, text: string, undo?: readonly [number, number]): string {
  const url = new URL(back.startsWith('/') && !back.startsWith('//') ? back : '/', 'http://here');
  url.searchParams.set('done', text);
  if (undo) url.searchParams.set('undo', undo.join(':'));
  else url.searchParams.delete('undo');
  // Two slashes at the beginning would lead to another host.
  return `${url.pathname.replace(/^\/+/, '/')}${url.search}`;
}

export function doneText(request: FastifyRequest): Html | undefined {
  const { done, undo } = doneQuery.safeParse(request.query).data ?? {};
  if (done === undefined) return undefined;
  const [delivery, decision] = undo?.split(':') ?? [];
  return html`<p>${done}</p>${
    delivery !== undefined &&
    html`<form method="post" action="/deliveries/${delivery}/undo">
<input type="hidden" name="decisionId" value="${decision}">
<button class="small">Undo <kbd>z</kbd></button></form>`
  }`;
}
