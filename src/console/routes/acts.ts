/**
 * Routes for acts of people, as forms, and as JSON for programs. A form returns to its page (303)
 * with a confirmation; JSON is answered with the result.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { selectExpected } from '../../decisions/review/bulk.ts';
import { type Asker, bulkRequest, noteAct, reviewAct, undoAct, type Wish } from '../acts.ts';
import { askFor, type ConsoleDeps, signedIn } from '../context.ts';
import { backTo, type Notice } from '../done.ts';
import { filterOf } from '../filter.ts';
import type { ReadRules } from '../rules.ts';
import { isForPeople, isoTimes } from '../show.ts';
import { addressOf, forgetCookie } from './signing.ts';

export const REVIEW_ACTIONS = ['accept', 'hold', 'release', 'reject'] as const;

const deliveryParams = z.object({ id: z.coerce.number().int().min(1) });
const formBack = z.object({ back: z.string().max(2_000).optional() });

const decided = z.object({ orderDeliveryId: z.int(), deliveryNo: z.string(), decisionId: z.int() });
const answers = z.object({
  answers: z.array(
    z.looseObject({ delivery: z.string(), ok: z.boolean(), message: z.string().optional() }),
  ),
});

const DONE = {
  accept: 'accepted',
  hold: 'held',
  release: 'given back to the rules',
  reject: 'rejected',
} as const;

/**
 * Body of an act on many deliveries, in the form that programs send: a form has its filter in
 * fields named `filter.…`.
 */
function bulkBody(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || !('digest' in body)) return body;
  const fields = Object.entries(body);
  const filter = fields.flatMap(([name, value]) =>
    name.startsWith('filter.') ? [[name.slice('filter.'.length), value]] : [],
  );
  const { count, digest, asOf, ...rest } = Object.fromEntries(fields);
  const expect = { count, digest, asOf };
  return { ...rest, select: { filter: Object.fromEntries(filter), expect } };
}

/** Functions that routes of acts share: who asks, and having the daemon act. */
export interface Acting {
  askerOf(request: FastifyRequest): Asker;
  act(request: FastifyRequest, wish: Wish): Promise<unknown>;
}

/**
 * Answers an act: a form is redirected to the page it came from, where the notice is shown; a
 * program gets the result as JSON.
 */
export function answer(
  { notices }: Pick<ConsoleDeps, 'notices'>,
  request: FastifyRequest,
  reply: FastifyReply,
  value: unknown,
  { back, ...notice }: Notice & { readonly back: string },
): FastifyReply {
  if (!isForPeople(request)) return reply.send(isoTimes(value));
  notices.put(signedIn(request).sessionId, notice);
  return reply.code(303).header('location', backTo(back)).send();
}

function backOf({ body }: FastifyRequest, otherwise: string): string {
  return formBack.safeParse(body).data?.back ?? otherwise;
}

function installDeliveryActs(app: FastifyInstance, deps: ConsoleDeps, { act }: Acting): void {
  for (const action of REVIEW_ACTIONS) {
    app.post(`/deliveries/:id/${action}`, async (request, reply) => {
      const { id } = deliveryParams.parse(request.params);
      const wanted = reviewAct.parse(request.body);
      const value = await act(request, { do: 'review', action, delivery: id, act: wanted });
      const { deliveryNo, decisionId } = decided.parse(value);
      const path = `/deliveries/${id}/undo`;
      const form = { path, button: 'Undo', fields: { decisionId } };
      const undo = action === 'reject' ? undefined : form;
      const back = backOf(request, `/deliveries/${id}`);
      const text = `${deliveryNo} is ${DONE[action]}.`;
      return answer(deps, request, reply, value, { back, text, undo });
    });
  }
  app.post('/deliveries/:id/note', async (request, reply) => {
    const { id } = deliveryParams.parse(request.params);
    const { text } = noteAct.parse(request.body);
    const value = await act(request, { do: 'note', delivery: id, text });
    const back = backOf(request, `/deliveries/${id}`);
    return answer(deps, request, reply, value, { back, text: 'The note is kept.' });
  });
  app.post('/deliveries/:id/undo', async (request, reply) => {
    const { id } = deliveryParams.parse(request.params);
    const { decisionId } = undoAct.parse(request.body);
    const value = await act(request, { do: 'undo', delivery: id, decisionId });
    const back = backOf(request, `/deliveries/${id}`);
    const text = `Undone: ${decided.parse(value).deliveryNo} waits again.`;
    return answer(deps, request, reply, value, { back, text });
  });
}

/** Result of an act on many deliveries, in one line. */
function bulkText(value: unknown, action: keyof typeof DONE): string {
  const all = answers.parse(value).answers;
  const failed = all.filter(({ ok }) => !ok);
  const [first] = failed;
  const done = `${all.length - failed.length} ${DONE[action]}`;
  if (!first) return `${done}.`;
  return `${done}; ${failed.length} not: ${first.delivery.replace('id:', '')}: ${first.message}`;
}

function installBulkAct(
  app: FastifyInstance,
  deps: ConsoleDeps,
  rulesShown: ReadRules,
  { act }: Acting,
): void {
  const { db, clock } = deps;
  app.post('/review/bulk', async (request, reply) => {
    const { select, ...rest } = bulkRequest.parse(bulkBody(request.body));
    const { expect } = select;
    const { owners } = await rulesShown();
    const now = clock.now();
    const filter = filterOf(select.filter, now, owners, signedIn(request));
    const found = await selectExpected(db, filter, expect, now);
    const wish = { do: 'bulk', act: { ...rest, expect }, deliveries: found.deliveries } as const;
    const value = await act(request, wish);
    const text = bulkText(value, rest.action);
    return answer(deps, request, reply, value, { back: '/review', text });
  });
}

export function createActing(deps: ConsoleDeps): Acting {
  const { publicUrl } = deps.settings;
  const askerOf = (request: FastifyRequest): Asker => ({
    sessionId: signedIn(request).sessionId,
    address: addressOf(request, publicUrl),
  });
  return {
    askerOf,
    act: (request, wish) => askFor(deps, { ask: 'act', by: askerOf(request), wish }),
  };
}

export function installActs(app: FastifyInstance, deps: ConsoleDeps, rulesShown: ReadRules): void {
  const { publicUrl } = deps.settings;
  const { askerOf, act } = createActing(deps);
  installDeliveryActs(app, deps, { askerOf, act });
  installBulkAct(app, deps, rulesShown, { askerOf, act });
  for (const everywhere of [false, true]) {
    app.post(everywhere ? '/sign-out/everywhere' : '/sign-out', async (request, reply) => {
      await askFor(deps, { ask: 'signOut', by: askerOf(request), everywhere });
      if (!isForPeople(request)) return forgetCookie(reply, publicUrl).send({});
      return forgetCookie(reply, publicUrl).code(303).header('location', '/signed-out').send();
    });
  }
}
