/** Takes a request that is declared as JSON and has no body as one without a body. */
import type { FastifyInstance } from 'fastify';

export function takeEmptyJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser<string>(
    'application/json',
    { parseAs: 'string' },
    (request, text, done) => (text.trim() === '' ? done(null) : parse(request, text, done)),
  );
}
