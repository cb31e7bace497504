/** The first screen and its twins. */
import type { FastifyInstance } from 'fastify';
import { LIVE_PATH } from '../context.ts';
import { overviewPage } from '../pages/overview.ts';
import { type OverviewData, readOverview } from '../read/overview.ts';
import { isoTime, sendCsv, type Table } from '../show.ts';
import type { PageContext } from './page-context.ts';

function overviewTable({ held, underWay, unknownOutcomes, status }: OverviewData): Table {
  return {
    columns: ['name', 'value'],
    rows: [
      ['held', held.count],
      ['held_oldest', isoTime(held.oldestAt)],
      ['pushes_under_way', underWay.count],
      ['unknown_outcomes', unknownOutcomes],
      ['open_incidents', status.openIncidents],
      ...status.streams.map(({ stream, ageMs }) => [`age_ms_${stream}`, ageMs] as const),
    ],
  };
}

export function installOverview(app: FastifyInstance, context: PageContext): void {
  const { deps, rulesShown, zoneOf, show, live } = context;
  const { db, clock, settings } = deps;
  app.get('/', async (request, reply) => {
    const now = clock.now();
    const data = await readOverview(db, now, settings.freshnessMs);
    const view = { data, now, rules: await rulesShown(), timeZone: await zoneOf() };
    const page = { title: 'Overview', tab: '/', cli: 'selvedge status' } as const;
    return show(request, reply, page, overviewPage(view));
  });
  const overview = () => readOverview(db, clock.now(), settings.freshnessMs);
  app.get('/index.json', async () => {
    const { held, underWay, needs, ...rest } = await overview();
    return {
      ...rest,
      held: { count: held.count, oldestAt: isoTime(held.oldestAt) },
      underWay: { count: underWay.count, oldestAt: isoTime(underWay.oldestAt) },
      needs: needs.map(({ newestAt, ...need }) => ({ ...need, newestAt: isoTime(newestAt) })),
    };
  });
  app.get('/index.csv', async (_request, reply) =>
    sendCsv(reply, 'overview', overviewTable(await overview())),
  );

  app.get(LIVE_PATH, () => live());
}
