/**
 * Routes of the portal's pages of messages (that the relay received) and attempts (that it made).
 */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Relay } from '../relay/relay.ts';
import { attemptsPage } from './pages/attempts.ts';
import { messagePage, messagesPage } from './pages/messages.ts';
import { formOf, queryOf, showDone, showPage } from './show.ts';

interface Named {
  readonly Params: { readonly id: string };
}

const ROWS_PER_PAGE = 25;
const ATTEMPTS_OF_MESSAGE = 100;
const RECEIVED = '/portal/messages';
const SENT = '/portal/attempts';

/**
 * Filters of the lists. A wrong value is no error for a person who edits an address: it does not
 * filter.
 */
const filterSchema = z.object({
  type: z.string().min(1).optional().catch(undefined),
  status: z.enum(['success', 'pending', 'failed', 'unsent']).optional().catch(undefined),
  endpoint: z.string().min(1).optional().catch(undefined),
  since: z.coerce.number().positive().optional().catch(undefined),
  iterator: z.string().min(1).optional().catch(undefined),
});

function received(relay: Relay, query: URLSearchParams) {
  const { type, status, endpoint, since, iterator } = filterSchema.parse(Object.fromEntries(query));
  const page = relay.messages({
    limit: ROWS_PER_PAGE,
    iterator,
    status,
    endpointId: endpoint,
    eventTypes: type === undefined ? undefined : [type],
    after: since === undefined ? undefined : relay.now() - since,
  });
  const data = page.data.map((message) => ({
    message,
    deliveries: relay.deliveriesOf(message.id),
  }));
  return messagesPage({ ...page, data }, relay.listEndpoints(), query);
}

function sent(relay: Relay, query: URLSearchParams) {
  const { status, endpoint, iterator } = filterSchema.parse(Object.fromEntries(query));
  const page = relay.attempts({
    limit: ROWS_PER_PAGE,
    iterator,
    endpointId: endpoint,
    status: status === 'success' || status === 'failed' ? status : undefined,
  });
  return attemptsPage(page, relay.listEndpoints(), query);
}

/** The filters of a page without the word that tells what an action did. */
function filtersOf(query: URLSearchParams): URLSearchParams {
  const kept = new URLSearchParams(query);
  kept.delete('done');
  return kept;
}

export function historyRoutes(app: FastifyInstance, relay: Relay): void {
  app.get('/messages', (request, reply) => {
    const page = received(relay, filtersOf(queryOf(request)));
    return showPage(request, reply, ['Received', RECEIVED], page);
  });
  app.get('/attempts', (request, reply) => {
    const page = sent(relay, filtersOf(queryOf(request)));
    return showPage(request, reply, ['Sent', SENT], page);
  });
  app.get<Named>('/messages/:id', (request, reply) => {
    const message = relay.message(request.params.id);
    const page = messagePage({
      message,
      deliveries: relay.deliveriesOf(message.id),
      attempts: relay.attempts({ messageId: message.id, limit: ATTEMPTS_OF_MESSAGE }).data,
      endpoints: relay.listEndpoints(),
    });
    return showPage(request, reply, ['Message', RECEIVED], page);
  });
  app.post<Named>('/messages/:id/resend', (request, reply) => {
    const { id } = request.params;
    relay.resend(id, formOf(request).get('endpoint') ?? '');
    return showDone(reply, `${RECEIVED}/${encodeURIComponent(id)}`, 'resent');
  });
}
