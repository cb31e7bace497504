/** Route of one incident, with those before it. */
import type { FastifyInstance } from 'fastify';
import { wordFor } from '../../config/words.ts';
import { RefusedError } from '../../lib/errors.ts';
import { incidentOf, incidentsBefore } from '../../ops/incidents.ts';
import { incidentPage } from '../pages/incident.ts';
import { idParams, maskedFor, type PageContext } from './page-context.ts';

function numberIn(id: string): number {
  if (/^\d{1,15}$/.test(id)) return Number(id);
  const hint = 'the list of incidents is at /incidents';
  throw new RefusedError('incidents.unknown', `there is no incident ${id}`, { hint });
}

export function installIncidents(app: FastifyInstance, context: PageContext): void {
  const { deps, show, readerOf } = context;
  app.get('/incidents/:id', async (request, reply) => {
    const id = numberIn(idParams.parse(request.params).id);
    const one = await incidentOf(deps.db, id);
    const before = await incidentsBefore(deps.db, one);
    const title = wordFor('incident', one.kind);
    const cli = `selvedge incidents list --kind ${one.kind}`;
    const page = incidentPage(maskedFor(request, { one, before }), await readerOf(request));
    return show(request, reply, { title, tab: '/', cli }, page);
  });
}
