/** `/openapi.json`: the description of the console, for those who may read it. */
import type { FastifyInstance } from 'fastify';

export function installDescription(app: FastifyInstance): void {
  let text: string | undefined;
  app.get('/openapi.json', async (_request, reply) => {
    // Loaded when somebody asks: it costs more than a start.
    if (text === undefined) {
      const { consoleDocument } = await import('../openapi/document.ts');
      text = JSON.stringify(consoleDocument());
    }
    return reply.type('application/json').send(text);
  });
}
