/** Routes for pulls with their twins, and for what people may do to them. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { wordFor } from '../../config/words.ts';
import { RefusedError } from '../../lib/errors.ts';
import { tryParseJson } from '../../lib/json.ts';
import { pullOf, readQuarantined, runs, streams } from '../../sync/lists.ts';
import { askFor, signedIn } from '../context.ts';
import { maskPrivate } from '../mask.ts';
import { pullsPage, runPage, streamPage } from '../pages/pulls.ts';
import { type RunView, readRunView } from '../read/pulls.ts';
import { isoTimes } from '../show.ts';
import { listPart, readView } from '../surface/lists.ts';
import { idParams, maskedFor, type PageContext } from './page-context.ts';

/** Number of latest runs shown below the table of streams. */
const LATEST = 20;

const preview = z.object({
  preview: z
    .object({
      deletes: z.int(),
      firstKeys: z.array(z.string()),
      acceptsChange: z.boolean(),
      acceptsCount: z.string().nullable(),
      later: z.string().nullable(),
    })
    .nullable(),
  refused: z.string().nullable(),
});

/**
 * A run with its details, masked unless the session may see names and addresses: changed members of
 * customers' rows may be private.
 */
async function viewOf(
  { deps }: PageContext,
  request: FastifyRequest,
  named: string,
): Promise<RunView> {
  const view = /^\d{1,15}$/.test(named) ? await readRunView(deps.db, Number(named)) : undefined;
  if (!view) {
    const hint = 'the page of its stream lists the runs that are kept';
    throw new RefusedError('sync.unknown_run', `there is no run ${named}`, { hint });
  }
  if (signedIn(request).seesAddresses) return view;
  const parsed = view.changes.map((one) => ({ ...one, diff: tryParseJson(one.diff) }));
  const masked = maskPrivate({ ...view, changes: parsed });
  const changes = masked.changes.map((one) => ({ ...one, diff: JSON.stringify(one.diff) }));
  return { ...masked, changes };
}

async function showRun(context: PageContext, request: FastifyRequest, reply: FastifyReply) {
  const { id } = idParams.parse(request.params);
  const [, name = id, twin] = /^(.*)\.(json)$/.exec(id) ?? [];
  const view = await viewOf(context, request, name);
  const { runId, stream } = view.run;
  const release = view.isWaiting
    ? preview.parse(await askFor(context.deps, { ask: 'release', runId }))
    : null;
  if (twin === 'json') {
    const changes = view.changes.map(({ diff, ...one }) => ({ ...one, diff: tryParseJson(diff) }));
    return reply.send(isoTimes({ ...view, changes, release }));
  }
  const cli = `selvedge sync show ${runId}`;
  const head = {
    title: `Run ${runId} of ${wordFor('stream', stream)}`,
    tab: '/pulls',
    cli,
  } as const;
  return context.show(
    request,
    reply,
    head,
    runPage(view, release, await context.pauseReaderOf(request)),
  );
}

async function showStream(context: PageContext, request: FastifyRequest, reply: FastifyReply) {
  const { id: name } = idParams.parse(request.params);
  const view = await readView(context, request, runs);
  const row = maskedFor(request, await pullOf(view.from, name));
  const head = {
    title: `Pulls of ${wordFor('stream', name)}`,
    tab: '/pulls',
    cli: `selvedge sync show ${name}`,
  } as const;
  const body = streamPage(row, listPart(runs, view), await context.pauseReaderOf(request));
  return context.show(request, reply, head, body);
}

async function showPulls(context: PageContext, request: FastifyRequest, reply: FastifyReply) {
  const view = await readView(context, request, streams);
  const latest = await runs.read(view.from, { limit: LATEST });
  const quarantined = await readQuarantined(view.from.db);
  const head = { title: 'Pulls', tab: '/pulls', cli: 'selvedge sync list' } as const;
  const shown = { view, quarantined, latest: maskedFor(request, latest.rows) };
  return context.show(request, reply, head, pullsPage(shown, await context.pauseReaderOf(request)));
}

export function installPulls(app: FastifyInstance, context: PageContext): void {
  app.get('/pulls', (request, reply) => showPulls(context, request, reply));
  app.get('/pulls/:id', (request, reply) => showStream(context, request, reply));
  app.get('/pulls/runs/:id', (request, reply) => showRun(context, request, reply));
}
