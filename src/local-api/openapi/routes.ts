/** `/openapi.json`: the description of the local API. It needs no token, because it has no data. */
import type { RouteGroup } from '../api.ts';

export function descriptionRoutes(): RouteGroup {
  let text: string | undefined;
  return {
    access: 'open',
    install(app) {
      app.get('/openapi.json', async (_request, reply) => {
        // Loads the description at the first request, because it would make each start slower.
        if (text === undefined) {
          const { localApiDocument } = await import('./document.ts');
          text = JSON.stringify(localApiDocument());
        }
        return reply.type('application/json').send(text);
      });
    },
  };
}
