/**
 * What people change: forms, and the same with JSON for programs. A form leads back to its page
 * (303) with what was done; JSON answers with the result.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { selectForReview } from '../decisions/review/listing.ts';
import { RefusedError } from '../lib/errors.ts';
import {
  type Asker,
  bulkAct,
  noteAct,
  outboxAct,
  pauseAct,
  reviewAct,
  reviewQuery,
  undoAct,
  type Wish,
} from './acts.ts';
import { backTo } from './done.ts';
import { filterOf } from './filter.ts';
import { createRulesShown } from './rules.ts';
import { askFor, type ConsoleDeps, signedIn } from './server.ts';
import { isForPeople } from './show.ts';
import { addressOf, cookieName } from './signing.ts';

const REVIEW_ACTIONS = ['accept', 'hold', 'release', 'reject'] as const;
const OUTBOX_ACTIONS = ['retry', 'cancel', 'absent', 'noted'] as const;

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

/** A bulk act of a form: its filter is in fields named `filter.…`. */
function bulkBody(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || !('digest' in body)) return body;
  const fields = Object.entries(body);
  const filter = fields.flatMap(([name, value]) =>
    name.startsWith('filter.') ? [[name.slice('filter.'.length), value]] : [],
  );
  const { count, digest, ...rest } = Object.fromEntries(fields);
  return { ...rest, select: { filter: Object.fromEntries(filter), expect: { count, digest } } };
}

const bulkRequest = bulkAct.omit({ expect: true }).extend({
  select: z.object({ filter: reviewQuery, expect: bulkAct.shape.expect }),
});

export function installActs(app: FastifyInstance, deps: ConsoleDeps): void {
  const { db, clock, settings } = deps;
  const rulesShown = createRulesShown(db);
  const askerOf = (request: FastifyRequest): Asker => ({
    sessionId: signedIn(request).sessionId,
    address: addressOf(request, settings.publicUrl),
  });
  const act = (request: FastifyRequest, wish: Wish) =>
    askFor(deps, { ask: 'act', by: askerOf(request), wish });
  const answer = (
    request: FastifyRequest,
    reply: FastifyReply,
    value: unknown,
    back: string,
  ): FastifyReply => {
    if (!isForPeople(request)) return reply.send(value);
    return reply.code(303).header('location', back).send();
  };
  const backOf = ({ body }: FastifyRequest, otherwise: string): string =>
    formBack.safeParse(body).data?.back ?? otherwise;

  for (const action of REVIEW_ACTIONS) {
    app.post(`/deliveries/:id/${action}`, async (request, reply) => {
      const { id } = deliveryParams.parse(request.params);
      const wish = {
        do: 'review',
        action,
        delivery: id,
        act: reviewAct.parse(request.body),
      } as const;
      const value = await act(request, wish);
      const { deliveryNo, decisionId } = decided.parse(value);
      const undo = action === 'reject' ? undefined : ([id, decisionId] as const);
      const text = `${deliveryNo} is ${DONE[action]}.`;
      return answer(
        request,
        reply,
        value,
        backTo(backOf(request, `/deliveries/${id}`), text, undo),
      );
    });
  }
  app.post('/deliveries/:id/note', async (request, reply) => {
    const { id } = deliveryParams.parse(request.params);
    const { text } = noteAct.parse(request.body);
    const value = await act(request, { do: 'note', delivery: id, text });
    const back = backOf(request, `/deliveries/${id}`);
    return answer(request, reply, value, backTo(back, 'The note is kept.'));
  });
  app.post('/deliveries/:id/undo', async (request, reply) => {
    const { id } = deliveryParams.parse(request.params);
    const { decisionId } = undoAct.parse(request.body);
    const value = await act(request, { do: 'undo', delivery: id, decisionId });
    const text = `Undone: ${decided.parse(value).deliveryNo} waits again.`;
    return answer(request, reply, value, backTo(backOf(request, `/deliveries/${id}`), text));
  });
  app.post('/review/bulk', async (request, reply) => {
    const { select, ...rest } = bulkRequest.parse(bulkBody(request.body));
    const { expect } = select;
    const { owners } = await rulesShown();
    const found = await selectForReview(db, filterOf(select.filter, clock.now(), owners));
    if (found.count !== expect.count || found.digest !== expect.digest) {
      const message =
        `nothing was done: ${found.count} deliveries fit the filter now, ` +
        `${expect.count} did when you looked, and they are not the same`;
      throw new RefusedError('console.changed', message, { hint: 'look at the list again' });
    }
    const wish = { do: 'bulk', act: { ...rest, expect }, deliveries: found.deliveries } as const;
    const value = await act(request, wish);
    const all = answers.parse(value).answers;
    const failed = all.filter(({ ok }) => !ok);
    const first = failed[0]
      ? ` ${failed[0].delivery.replace('id:', '')}: ${failed[0].message}`
      : '';
    const left = failed.length > 0 ? `; ${failed.length} not:${first}` : '.';
    const text = `${all.length - failed.length} ${DONE[rest.action]}${left}`;
    return answer(request, reply, value, backTo('/review', text));
  });
  for (const action of OUTBOX_ACTIONS) {
    app.post(`/outbox/:id/${action}`, async (request, reply) => {
      const { id } = deliveryParams.parse(request.params);
      const { reason } = outboxAct.parse(request.body);
      const value = await act(request, { do: 'outbox', action, outboxId: id, reason });
      return answer(request, reply, value, backTo(`/outbox/${id}`, 'Done.'));
    });
  }
  for (const wanted of ['pause', 'resume'] as const) {
    app.post(`/${wanted}`, async (request, reply) => {
      const value = await act(request, { do: wanted, ...pauseAct.parse(request.body) });
      return answer(
        request,
        reply,
        value,
        backTo('/', wanted === 'pause' ? 'Paused.' : 'Resumed.'),
      );
    });
  }
  for (const everywhere of [false, true]) {
    app.post(everywhere ? '/sign-out/everywhere' : '/sign-out', async (request, reply) => {
      await askFor(deps, { ask: 'signOut', by: askerOf(request), everywhere });
      const gone = `${cookieName(settings.publicUrl)}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0`;
      const secure = settings.publicUrl?.startsWith('https:') ? '; Secure' : '';
      reply.header('set-cookie', `${gone}${secure}`);
      return answer(request, reply, {}, '/signed-out');
    });
  }
}
