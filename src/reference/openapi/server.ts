/** Serves the descriptions of V1 and V2: `/openapi.json` for programs, `/docs` for people. */
import type { FastifyInstance } from 'fastify';
import { renderHtml } from '../../lib/html.ts';
import type { CurrentKnobs, Knobs } from '../control/knobs.ts';
import type { Route } from '../v1/route.ts';
import type { V2Route } from '../v2/route.ts';
import { DOCS_POLICY, docsPage } from './docs-page.ts';
import type { TokenWay } from './operation.ts';
import { v1Document } from './v1-document.ts';
import { v2Document } from './v2-document.ts';

export interface Described {
  readonly knobs: CurrentKnobs;
  readonly v1: { readonly prefix: string; readonly routes: readonly Route[] };
  readonly v2: { readonly prefix: string; readonly routes: readonly V2Route[] };
}

/**
 * Serves a description, which is made on the first request and kept until the knobs change, because
 * making it costs more than a start.
 */
function serve(
  app: FastifyInstance,
  prefix: string,
  knobs: CurrentKnobs,
  describe: (now: Knobs) => object,
): void {
  const source = `${prefix}/openapi.json`;
  let made: { readonly of: Knobs; readonly document: object } | undefined;
  const document = (): object => {
    const now = knobs();
    if (made?.of !== now) made = { of: now, document: describe(now) };
    return made.document;
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

function tokenWay({ deviations, dialect }: Knobs): TokenWay {
  return { tokenHeader: deviations.tokenHeader, bearer: dialect.bearer };
}

export function installDescriptions(app: FastifyInstance, described: Described): void {
  const { v1, v2, knobs } = described;
  serve(app, v1.prefix, knobs, (now) => {
    const account = { level: now.v1.level, dialect: now.dialect };
    return v1Document(v1.routes, v1.prefix, account, tokenWay(now));
  });
  serve(app, v2.prefix, knobs, (now) => v2Document(v2.routes, v2.prefix, tokenWay(now)));
}
