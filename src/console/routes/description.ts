/** Route `/openapi.json`: the description of the console, for signed-in people and programs. */
import type { FastifyInstance } from 'fastify';

export function installDescription(app: FastifyInstance): void {
  let text: string | undefined;
  app.get('/openapi.json', async (_request, reply) => {
    // Loads the description at the first request, because it would make each start slower.
    if (text === undefined) {
      const { consoleDocument } = await import('../openapi/document.ts');
      text = JSON.stringify(consoleDocument());
    }
    return reply.type('application/json').send(text);
  });
}
