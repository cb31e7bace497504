/** The act that was just done, told on the page that the browser comes back to. */
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type Html, html } from '../lib/html.ts';

/** Travels in the address: the page after an act must say what became of it. */
const doneQuery = z.object({
  done: z.string().max(300).optional(),
  undo: z
    .string()
    .regex(/^\d{1,15}:\d{1,15}$/)
    .optional(),
});

/** `back` with what was done; `undo` names the delivery and its decision. */
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
