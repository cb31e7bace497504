/** Routes of the management API for messages and attempts. */
import type { FastifyInstance } from 'fastify';
import { RefusedError } from '../../../lib/errors.ts';
import type { Attempt } from '../model.ts';
import type { Relay } from '../relay.ts';
import {
  attemptQuery,
  endpointMessageQuery,
  messageBody,
  messageQuery,
  pageQuery,
} from './inputs.ts';
import { attemptOut, deliveryOut, endpointOut, messageOut, pageOfList, pageOut } from './shapes.ts';

interface Named {
  readonly Params: {
    readonly endpoint: string;
    readonly message: string;
    readonly attempt: string;
  };
}

function attemptPage(
  relay: Relay,
  scope: { messageId?: string; endpointId?: string },
  raw: unknown,
) {
  const { with_content, with_msg, endpoint_id, ...filter } = attemptQuery.parse(raw);
  const only = endpoint_id === undefined ? {} : { endpointId: endpoint_id };
  const shape = (attempt: Attempt) => ({
    ...attemptOut(attempt, with_content),
    ...(with_msg && { msg: messageOut(relay.message(attempt.messageId), with_content) }),
  });
  return pageOut(relay.attempts({ ...filter, ...only, ...scope }), shape);
}

function messages(app: FastifyInstance, relay: Relay): void {
  app.get('/app/:app/msg', (request) => {
    const { with_content, ...filter } = messageQuery.parse(request.query);
    return pageOut(relay.messages(filter), (message) => messageOut(message, with_content));
  });
  app.post('/app/:app/msg', (request, reply) => {
    const sent = relay.send(messageBody.parse(request.body));
    return reply.code(202).send(messageOut(sent, true));
  });
  app.get<Named>('/app/:app/msg/:message', ({ params }) =>
    messageOut(relay.message(params.message), true),
  );
  app.get<Named>('/app/:app/msg/:message/endpoint', ({ params, query }) => {
    const rows = relay.deliveriesOf(params.message);
    return pageOut(
      pageOfList(rows, ({ endpointId }) => endpointId, pageQuery.parse(query)),
      (row) => ({ ...endpointOut(relay.endpoint(row.endpointId)), ...deliveryOut(row) }),
    );
  });
  app.get<Named>('/app/:app/endpoint/:endpoint/msg', ({ params, query }) => {
    const { with_content, ...filter } = endpointMessageQuery.parse(query);
    const endpointId = relay.endpoint(params.endpoint).id;
    return pageOut(relay.messages({ ...filter, endpointId }), (message) => {
      const row = relay.deliveriesOf(message.id).find((one) => one.endpointId === endpointId);
      return { ...messageOut(message, with_content), ...(row && deliveryOut(row)) };
    });
  });
}

export function messageRoutes(app: FastifyInstance, relay: Relay): void {
  messages(app, relay);
  app.get<Named>('/app/:app/attempt/endpoint/:endpoint', ({ params, query }) =>
    attemptPage(relay, { endpointId: relay.endpoint(params.endpoint).id }, query),
  );
  app.get<Named>('/app/:app/attempt/msg/:message', ({ params, query }) =>
    attemptPage(relay, { messageId: relay.message(params.message).id }, query),
  );
  app.get<Named>('/app/:app/msg/:message/attempt/:attempt', ({ params }) => {
    const found = relay.attempt(params.attempt);
    if (found?.messageId !== params.message) {
      throw new RefusedError('relay.attempt_unknown', 'there is no such attempt');
    }
    return attemptOut(found, true);
  });
  app.post<Named>('/app/:app/msg/:message/endpoint/:endpoint/resend', ({ params }, reply) => {
    relay.resend(params.message, params.endpoint);
    return reply.code(202).send({});
  });
}
