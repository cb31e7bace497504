/** Routes for pulls with their twins, and for what people may do to them. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { RefusedError } from '../../lib/errors.ts';
import { tryParseJson } from '../../lib/json.ts';
import { RUN_OUTCOMES } from '../../store/tables.ts';
import { unknownStream } from '../../sync/operations.ts';
import type { RunOverview } from '../../sync/overview.ts';
import { askFor, signedIn } from '../context.ts';
import { maskPrivate } from '../mask.ts';
import { pullsPage, runPage, streamPage } from '../pages/pulls.ts';
import {
  type PullRow,
  type RunView,
  readPulls,
  readQuarantined,
  readRunPage,
  readRunView,
} from '../read/pulls.ts';
import { isoTime, isoTimes, sendCsv, type Table } from '../show.ts';
import { idParams, maskedFor, type PageContext, parametersOf } from './page-context.ts';

export const runsQuery = z.object({
  outcome: z
    .enum(['', ...RUN_OUTCOMES])
    .optional()
    .transform((outcome) => outcome || undefined),
  before: z.coerce.number().int().min(1).optional(),
  limit: z.coerce.number().int().min(1).max(100).default(50),
});

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

function pullsTable(rows: readonly PullRow[]): Table {
  return {
    columns: [
      ...['stream', 'paused', 'schedule', 'next_run', 'complete_at', 'rows', 'stale', 'last_run'],
      ...['last_outcome', 'p50_ms', 'p95_ms', 'rows_per_second', 'last_error'],
    ],
    rows: rows.map((row) => [
      ...[row.stream, row.paused, row.schedule, isoTime(row.nextTimes[0] ?? null)],
      ...[isoTime(row.completeAt), row.completeRows, row.stale, row.lastRunId, row.lastOutcome],
      ...[row.figures.p50Ms, row.figures.p95Ms, row.figures.rowsPerSecond, row.lastError],
    ]),
  };
}

function runsTable(rows: readonly RunOverview[]): Table {
  return {
    columns: [
      ...['run', 'stream', 'cause', 'started_at', 'ended_at', 'outcome', 'pages', 'rows'],
      ...['changed', 'deleted', 'held', 'quarantined', 'retries', 'waits', 'wait_ms', 'reason'],
    ],
    rows: rows.map((run) => [
      ...[run.runId, run.stream, run.cause, isoTime(run.startedAt), isoTime(run.endedAt)],
      ...[run.outcome, run.pages, run.rows, run.changed, run.deleted, run.held],
      ...[run.quarantined, run.retries, run.waits, run.waitMs, run.reason],
    ]),
  };
}

function pullsJson(rows: readonly PullRow[]): unknown {
  return isoTimes(
    rows.map(({ nextTimes, ...row }) => ({ ...row, nextTimes: nextTimes.map(isoTime) })),
  );
}

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
  const head = { title: `Run ${runId} of ${stream}`, tab: '/pulls', cli } as const;
  return context.show(
    request,
    reply,
    head,
    runPage(view, release, await context.pauseReaderOf(request)),
  );
}

async function showStream(context: PageContext, request: FastifyRequest, reply: FastifyReply) {
  const { db, clock, settings } = context.deps;
  const { id } = idParams.parse(request.params);
  const [, name = id, twin] = /^(.*)\.(json|csv)$/.exec(id) ?? [];
  const rows = maskedFor(request, await readPulls(db, settings, clock.now()));
  const row = rows.find(({ stream }) => stream === name);
  if (!row) {
    throw unknownStream(
      name,
      rows.map(({ stream }) => stream),
    );
  }
  const page = maskedFor(request, await readRunPage(db, name, runsQuery.parse(request.query)));
  if (twin === 'json') return reply.send({ stream: pullsJson([row]), ...Object(isoTimes(page)) });
  if (twin === 'csv') return sendCsv(request, reply, `runs-${name}`, runsTable(page.rows));
  const head = {
    title: `Pulls of ${name}`,
    tab: '/pulls',
    cli: `selvedge sync show ${name}`,
  } as const;
  const view = { row, page, query: parametersOf(request) };
  return context.show(request, reply, head, streamPage(view, await context.pauseReaderOf(request)));
}

export function installPulls(app: FastifyInstance, context: PageContext): void {
  const { deps, show } = context;
  const { db, clock, settings } = deps;
  const pulls = async (request: FastifyRequest) =>
    maskedFor(request, await readPulls(db, settings, clock.now()));
  app.get('/pulls', async (request, reply) => {
    const latest = maskedFor(request, await readRunPage(db, undefined, { limit: LATEST }));
    const view = { streams: await pulls(request), quarantined: await readQuarantined(db), latest };
    const head = { title: 'Pulls', tab: '/pulls', cli: 'selvedge sync list' } as const;
    return show(request, reply, head, pullsPage(view, await context.pauseReaderOf(request)));
  });
  app.get('/pulls.json', async (request) => ({
    streams: pullsJson(await pulls(request)),
    quarantined: isoTimes(await readQuarantined(db)),
  }));
  app.get('/pulls.csv', async (request, reply) =>
    sendCsv(request, reply, 'pulls', pullsTable(await pulls(request))),
  );
  app.get('/pulls/:id', (request, reply) => showStream(context, request, reply));
  app.get('/pulls/runs/:id', (request, reply) => showRun(context, request, reply));
}
