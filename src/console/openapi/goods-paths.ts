/** OpenAPI paths about stock, reports and the parts of a delivery. */
import { z } from 'zod';
import { changesQuery, factsQuery } from '../routes/delivery-parts.ts';
import { styleQuery, stylesQuery } from '../routes/stock.ts';
import { csvQuery } from '../show.ts';
import {
  changesSchema,
  factsSchema,
  nowSchema,
  rawSchema,
  reportRowsSchema,
  reportsSchema,
  styleStockSchema,
  stylesSchema,
} from './goods-answers.ts';
import { answer, csvOf, jsonOf, NO_SUCH, problem, reading } from './route.ts';

const style = z.object({
  id: z
    .string()
    .meta({ description: 'Number of the style, or a barcode of it', example: '100017' }),
});
const asOf = styleQuery.pick({ asOf: true });
const PAST = { ...NO_SUCH, 409: problem('Nothing is known of that time') };

const STOCK = {
  '/stock.json': jsonOf(
    { id: 'listStyles', tag: 'stock', summary: 'Styles by number', query: stylesQuery },
    stylesSchema,
  ),
  '/stock.csv': csvOf({
    ...{ id: 'listStylesCsv', tag: 'stock', summary: 'The same, up to 10,000 at once' },
    query: stylesQuery,
  }),
  '/stock/{id}.json': jsonOf(
    {
      ...{ id: 'getStyle', tag: 'stock', path: style, query: asOf, problems: PAST },
      summary: 'A style by color and size, now or as of a time, and who wants it',
    },
    styleStockSchema,
  ),
  '/stock/{id}.csv': csvOf({
    ...{ id: 'getStyleCsv', tag: 'stock', path: style, query: asOf, problems: PAST },
    summary: 'The same by color and size',
  }),
  '/stock/{id}/orders.csv': csvOf({
    ...{ id: 'getStyleOrdersCsv', tag: 'stock', path: style, problems: NO_SUCH },
    summary: 'Lines of open orders that want it, up to 10,000',
  }),
};

const report = z.object({
  id: z.string().meta({ description: 'Its name', example: 'held-deliveries' }),
});
const MADE = {
  ...NO_SUCH,
  409: problem('It could not be made: the message tells why; or two are being made already'),
};
const PARAMETERS =
  'Parameters of the report are members of the address that begin with `param.`, such as ' +
  '`param.style=100017`. Names and addresses are masked for who may not see them.';

function fileOf(id: string, summary: string, type: string) {
  const schema = z.string().meta({ format: 'binary' });
  const of = { id, summary, tag: 'reports', path: report, query: csvQuery, problems: MADE };
  return reading(of, { description: PARAMETERS, content: { [type]: { schema } } });
}

const REPORTS = {
  '/reports.json': jsonOf(
    { id: 'listReports', tag: 'reports', summary: 'Reports with their schedules' },
    reportsSchema,
  ),
  '/reports.csv': csvOf({ id: 'listReportsCsv', tag: 'reports', summary: 'Their names' }),
  '/reports/{id}.json': reading(
    {
      ...{ id: 'runReport', tag: 'reports', path: report, problems: MADE },
      summary: 'Make a report: its rows, up to 10,000',
    },
    { ...answer(PARAMETERS, reportRowsSchema) },
  ),
  '/reports/{id}.csv': fileOf('runReportCsv', 'The same as CSV', 'text/csv'),
  '/reports/{id}.html': fileOf('runReportHtml', 'The same as a page in a file', 'text/html'),
  '/reports/{id}.xlsx': fileOf(
    'runReportXlsx',
    'The same as a workbook',
    'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  ),
};

const delivery = z.object({
  id: z.string().meta({ description: 'Its id or its number', example: '500044' }),
});

function part(id: string, summary: string, query?: z.ZodObject) {
  return {
    ...{ id, summary, tag: 'review', path: delivery, problems: NO_SUCH },
    ...(query && { query }),
  };
}

const PARTS = {
  '/deliveries/{id}/raw.json': jsonOf(part('getRawDelivery', 'Its mirrored rows'), rawSchema),
  '/deliveries/{id}/changes.json': jsonOf(
    part('listDeliveryChanges', 'Its changes and those of its order', changesQuery),
    changesSchema,
  ),
  '/deliveries/{id}/changes.csv': csvOf(
    part('listDeliveryChangesCsv', 'The same, up to 10,000 at once', changesQuery),
  ),
  '/deliveries/{id}/facts.json': jsonOf(
    part('listFacts', 'What a condition may ask of it, as it is now', factsQuery),
    factsSchema,
  ),
  '/deliveries/{id}/facts.csv': csvOf(part('listFactsCsv', 'The same', factsQuery)),
  '/deliveries/{id}/now.json': jsonOf(
    part('explainNow', 'What the rules say of it now; decides nothing'),
    nowSchema,
  ),
};

export const GOODS_PATHS = { ...STOCK, ...REPORTS, ...PARTS };
