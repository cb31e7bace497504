/** Routes of the management API for endpoints: create, change, secrets, recovery. */
import type { FastifyInstance } from 'fastify';
import type { Relay } from '../relay.ts';
import {
  endpointBody,
  endpointPatch,
  exampleBody,
  pageQuery,
  rotateBody,
  windowBody,
} from './inputs.ts';
import { endpointOut, messageOut, pageOfList, pageOut } from './shapes.ts';

interface Named {
  readonly Params: { readonly endpoint: string };
}

const LIST = '/app/:app/endpoint';
const ONE = `${LIST}/:endpoint`;

function crud(app: FastifyInstance, relay: Relay): void {
  app.get(LIST, (request) =>
    pageOut(
      pageOfList(relay.listEndpoints(), ({ id }) => id, pageQuery.parse(request.query)),
      endpointOut,
    ),
  );
  app.post(LIST, (request, reply) => {
    const created = relay.createEndpoint(endpointBody.parse(request.body));
    return reply.code(201).send(endpointOut(created));
  });
  app.get<Named>(ONE, ({ params }) => endpointOut(relay.endpoint(params.endpoint)));
  app.put<Named>(ONE, ({ params, body }) => {
    const { secret: _kept, ...whole } = endpointBody.parse(body);
    const absent = { description: '', eventTypes: null, disabled: false };
    return endpointOut(relay.updateEndpoint(params.endpoint, { ...absent, ...whole }));
  });
  app.patch<Named>(ONE, ({ params, body }) =>
    endpointOut(relay.updateEndpoint(params.endpoint, endpointPatch.parse(body))),
  );
  app.delete<Named>(ONE, ({ params }, reply) => {
    relay.deleteEndpoint(params.endpoint);
    return reply.code(204).send();
  });
}

/**
 * Describes a recovery as one of Svix' tasks. It is finished, because it is done when it is
 * answered.
 */
function finishedTask(task: string, at: number) {
  return { id: `qtask_${at}`, status: 'finished', task, updatedAt: new Date(at).toISOString() };
}

export function endpointRoutes(app: FastifyInstance, relay: Relay): void {
  crud(app, relay);
  app.get<Named>(`${ONE}/secret`, ({ params }) => ({ key: relay.secret(params.endpoint) }));
  app.post<Named>(`${ONE}/secret/rotate`, ({ params, body }, reply) => {
    relay.rotateSecret(params.endpoint, rotateBody.parse(body ?? {}));
    return reply.code(204).send();
  });
  app.post<Named>(`${ONE}/recover`, ({ params, body }, reply) => {
    const { since, until } = windowBody.parse(body);
    relay.recover(params.endpoint, since, until);
    return reply.code(202).send(finishedTask('endpoint.recover', relay.now()));
  });
  app.post<Named>(`${ONE}/replay-missing`, ({ params, body }, reply) => {
    const { since, until } = windowBody.parse(body);
    relay.replayMissing(params.endpoint, since, until);
    return reply.code(202).send(finishedTask('endpoint.replay', relay.now()));
  });
  app.post<Named>(`${ONE}/send-example`, ({ params, body }, reply) => {
    const { eventType } = exampleBody.parse(body);
    return reply.code(202).send(messageOut(relay.sendExample(params.endpoint, eventType), true));
  });
}
