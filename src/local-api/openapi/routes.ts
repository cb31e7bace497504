/** `/openapi.json`: the description of the local API. No token: it tells nothing of anybody. */
import type { RouteGroup } from '../api.ts';

export function descriptionRoutes(): RouteGroup {
  let text: string | undefined;
  return {
    access: 'open',
    install(app) {
      app.get('/openapi.json', async (_request, reply) => {
        // Loaded when somebody asks: it costs more than a start.
        if (text === undefined) {
          const { localApiDocument } = await import('./document.ts');
          text = JSON.stringify(localApiDocument());
        }
        return reply.type('application/json').send(text);
      });
    },
  };
}
