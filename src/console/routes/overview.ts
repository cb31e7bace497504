/** Routes for the first screen with its twins, and for the live counts. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { lastEvening, troublesSince } from '../../ops/troubles.ts';
import { WAITING_KINDS } from '../../ops/waiting.ts';
import { isoTime } from '../../surface/forms.ts';
import { LIVE_PATH } from '../context.ts';
import { overviewPage } from '../pages/overview.ts';
import { createCharts } from '../read/charts.ts';
import { type OverviewData, readOverview } from '../read/overview.ts';
import { createSales } from '../read/sales.ts';
import { isoTimes, sendCsv, type Table } from '../show.ts';
import { readingFor } from '../surface/lists.ts';
import type { PageContext } from './page-context.ts';
import { maskedFor } from './page-context.ts';

function overviewTable({ held, underWay, unknownOutcomes, status }: OverviewData): Table {
  return {
    columns: ['name', 'value'],
    rows: [
      ['held', held.count],
      ['held_oldest', isoTime(held.oldestAt)],
      ['pushes_under_way', underWay.count],
      ['unknown_outcomes', unknownOutcomes],
      ['waiting', status.waiting.total],
      ...WAITING_KINDS.map((kind) => [`waiting_${kind}`, status.waiting[kind].count] as const),
      ['waiting_overdue', status.waiting.overdue],
      ['open_incidents', status.openIncidents],
      ...status.streams.map(({ stream, ageMs }) => [`age_ms_${stream}`, ageMs] as const),
    ],
  };
}

export function installOverview(app: FastifyInstance, context: PageContext): void {
  const { deps, rulesShown, zoneOf, show, live, isSilent } = context;
  const { db, clock, settings } = deps;
  const charts = createCharts(db, clock, settings.freshnessMs);
  const sales = createSales(db, clock, zoneOf);
  const overview = async (request: FastifyRequest) => {
    const data = await readOverview(db, clock.now(), settings.installation);
    return maskedFor(request, data);
  };
  app.get('/', async (request, reply) => {
    const now = clock.now();
    const data = await overview(request);
    const timeZone = await zoneOf();
    const since = lastEvening(now, timeZone);
    const rows = await troublesSince(readingFor(context, request), since);
    const view = {
      data,
      charts: await charts(),
      sales: await sales(),
      now,
      rules: await rulesShown(),
      night: maskedFor(request, { since, rows }),
      timeZone,
    };
    const page = { title: 'Overview', tab: '/', cli: 'selvedge status' } as const;
    return show(request, reply, page, overviewPage(view));
  });
  app.get('/index.json', async (request) => {
    const { decisions, hours, ...rest } = await charts();
    return isoTimes({
      ...(await overview(request)),
      sales: await sales(),
      charts: { ...rest, hours: hours.map(isoTime) },
      hours: decisions.map(({ hour, ...of }) => ({ hour: isoTime(hour), ...of })),
    });
  });
  app.get('/index.csv', async (request, reply) =>
    sendCsv(request, reply, 'overview', overviewTable(await overview(request))),
  );

  app.get(LIVE_PATH, async () => isoTimes({ ...(await live()), silent: isSilent() }));
}
