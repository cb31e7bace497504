/** Serves the descriptions of V1 and V2: `/openapi.json` for programs, `/docs` for people. */
import type { FastifyInstance } from 'fastify';
import { renderHtml } from '../../lib/html.ts';
import type { Route } from '../v1/route.ts';
import type { V2Route } from '../v2/route.ts';
import { DOCS_POLICY, docsPage } from './docs-page.ts';
import { v1Document } from './v1-document.ts';
import { v2Document } from './v2-document.ts';

export interface Described {
  readonly v1: { readonly prefix: string; readonly routes: readonly Route[] };
  readonly v2: { readonly prefix: string; readonly routes: readonly V2Route[] };
}

/** Made when somebody asks, and then kept: it costs more than the rest of a start. */
function serve(app: FastifyInstance, prefix: string, describe: () => object): void {
  const source = `${prefix}/openapi.json`;
  let made: object | undefined;
  const document = (): object => {
    made ??= describe();
    return made;
  };
  app.get(source, (_request, reply) =>
    reply.type('application/json').send(JSON.stringify(document())),
  );
  app.get(`${prefix}/docs`, (_request, reply) =>
    reply
      .headers({
        'content-security-policy': DOCS_POLICY,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      })
      .type('text/html; charset=utf-8')
      .send(renderHtml(docsPage(document(), source))),
  );
}

export function installDescriptions(app: FastifyInstance, { v1, v2 }: Described): void {
  serve(app, v1.prefix, () => v1Document(v1.routes, v1.prefix));
  serve(app, v2.prefix, () => v2Document(v2.routes, v2.prefix));
}
