/** Routes of the portal's pages and forms for endpoints. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RefusedError } from '../../lib/errors.ts';
import type { Relay } from '../relay/relay.ts';
import { deleteEndpointPage, endpointPage } from './pages/endpoint.ts';
import { type EndpointFields, endpointsPage, newEndpointPage } from './pages/endpoints.ts';
import { type Done, formOf, queryOf, showDone, showPage } from './show.ts';

interface Named {
  readonly Params: { readonly id: string };
}

const SECTION = '/portal/';
const LATEST_ATTEMPTS = 10;
const ONE = '/endpoints/:id';

function pathOf(id: string): string {
  return `/portal/endpoints/${id}`;
}

function fieldsOf(request: FastifyRequest): EndpointFields {
  const form = formOf(request);
  const eventTypes = form.getAll('eventTypes');
  return {
    url: (form.get('url') ?? '').trim(),
    description: (form.get('description') ?? '').trim(),
    eventTypes: eventTypes.length > 0 ? eventTypes : null,
  };
}

/** Message of a refusal by the relay, for a person; any other error is thrown again. */
function problemOf(thrown: unknown): string {
  if (!(thrown instanceof RefusedError)) throw thrown;
  return thrown.hint ? `${thrown.message}: ${thrown.hint}` : thrown.message;
}

/** Start of the window that a form chose, in the relay's time. */
function sinceOf(request: FastifyRequest, relay: Relay): number {
  const ms = Number(formOf(request).get('since'));
  return relay.now() - (Number.isFinite(ms) && ms > 0 ? ms : 0);
}

/** Index of the account that the person of a request belongs to; undefined: to all. */
type AccountOf = (request: FastifyRequest) => number | undefined;

function adding(app: FastifyInstance, relay: Relay, accountOf: AccountOf): void {
  const blank = { url: '', description: '', eventTypes: null };
  app.get('/', (request, reply) =>
    showPage(request, reply, ['Endpoints', SECTION], endpointsPage(relay.listEndpoints())),
  );
  app.get('/endpoints/new', (request, reply) =>
    showPage(request, reply, ['Add endpoint', SECTION], newEndpointPage(blank)),
  );
  app.post('/endpoints', (request, reply) => {
    const fields = fieldsOf(request);
    try {
      const { id } = relay.createEndpoint({ ...fields, account: accountOf(request) });
      return showDone(reply, `${pathOf(id)}?secret=show`, 'added');
    } catch (thrown) {
      const page = newEndpointPage(fields, problemOf(thrown));
      return showPage(request, reply.code(400), ['Add endpoint', SECTION], page);
    }
  });
}

function showing(app: FastifyInstance, relay: Relay): void {
  const view = (
    request: FastifyRequest,
    reply: FastifyReply,
    id: string,
    entered?: { fields: EndpointFields; problem: string },
  ): FastifyReply => {
    const page = endpointPage({
      endpoint: relay.endpoint(id),
      attempts: relay.attempts({ endpointId: id, limit: LATEST_ATTEMPTS }).data,
      secrets: queryOf(request).get('secret') === 'show' ? relay.liveSecrets(id) : undefined,
      entered,
    });
    return showPage(request, reply, ['Endpoint', SECTION], page);
  };
  app.get<Named>(ONE, (request, reply) => view(request, reply, request.params.id));
  app.post<Named>(ONE, (request, reply) => {
    const { id } = request.params;
    const fields = fieldsOf(request);
    try {
      relay.updateEndpoint(id, fields);
      return showDone(reply, pathOf(id), 'saved');
    } catch (thrown) {
      const problem = problemOf(thrown);
      return view(request, reply.code(400), id, { fields, problem });
    }
  });
  app.get<Named>(`${ONE}/delete`, (request, reply) => {
    const page = deleteEndpointPage(relay.endpoint(request.params.id));
    return showPage(request, reply, ['Delete endpoint', SECTION], page);
  });
}

interface Action {
  /** Acts on the endpoint, and returns what it did. */
  act(id: string, request: FastifyRequest): Done;
  /** Target of the redirect; absent: the endpoint's own page. */
  readonly to?: (id: string) => string;
}

/** Actions of the buttons on an endpoint's page, by the last part of their path. */
function actionsOf(relay: Relay): Readonly<Record<string, Action>> {
  const simple = (act: (id: string) => unknown, done: Done): Action => ({
    act(id) {
      act(id);
      return done;
    },
  });
  return {
    enable: simple(relay.enable, 'enabled'),
    disable: simple((id) => relay.disable(id), 'disabled'),
    delete: { ...simple(relay.deleteEndpoint, 'deleted'), to: () => SECTION },
    rotate: {
      ...simple((id) => relay.rotateSecret(id), 'rotated'),
      to: (id) => `${pathOf(id)}?secret=show#secret`,
    },
    example: {
      act(id, request) {
        relay.sendExample(id, formOf(request).get('eventType') ?? '');
        return 'sent';
      },
    },
    recover: {
      act: (id, request) =>
        relay.recover(id, sinceOf(request, relay)) > 0 ? 'recovered' : 'nothing',
    },
    replay: {
      act: (id, request) =>
        relay.replayMissing(id, sinceOf(request, relay)) > 0 ? 'replayed' : 'nothing',
    },
  };
}

export function endpointRoutes(app: FastifyInstance, relay: Relay, accountOf: AccountOf): void {
  adding(app, relay, accountOf);
  showing(app, relay);
  for (const [name, { act, to = pathOf }] of Object.entries(actionsOf(relay))) {
    app.post<Named>(`${ONE}/${name}`, (request, reply) => {
      const { id } = relay.endpoint(request.params.id);
      return showDone(reply, to(id), act(id, request));
    });
  }
}
