/** OpenAPI paths about making reports, and the parts of a delivery. */
import { z } from 'zod';
import { csvQuery } from '../show.ts';
import {
  anyObject,
  counterfactualsSchema,
  evaluationSchema,
  numberOrNull,
  textOrNull,
  time,
} from './answers.ts';
import { answer, jsonOf, NO_SUCH, problem, reading } from './route.ts';

const reportRowsSchema = z
  .strictObject({
    name: z.string(),
    title: z.string(),
    about: z.string().meta({ description: 'Parameters and time of the run, in words' }),
    notes: z.array(z.string()).meta({ description: 'What the rows do not tell' }),
    rows: z.array(z.record(z.string(), z.union([z.string(), z.number(), z.null()]))),
  })
  .meta({ id: 'ReportRows' });

const rawSchema = z
  .strictObject({
    delivery: anyObject,
    delivery_lines: z.array(anyObject),
    order: anyObject.nullable(),
    order_lines: z.array(anyObject),
  })
  .meta({
    id: 'RawDelivery',
    description: 'Columns of the mirror: amounts in ten-thousandths, times in epoch milliseconds',
  });

const nowSchema = z
  .strictObject({
    status: textOrNull,
    evaluation: evaluationSchema,
    inWay: textOrNull.meta({ description: 'Why it is not decided so' }),
    asked: textOrNull.meta({ description: 'Which rules see it, where it is not pending' }),
    decisionId: numberOrNull.meta({ description: 'The decision that set its status' }),
    counterfactuals: counterfactualsSchema,
    replay: z
      .strictObject({
        decisionId: z.int().min(1),
        at: time,
        outcome: z.string(),
        differences: z.array(z.string()),
      })
      .nullable()
      .meta({ description: 'The latest decision once more; no differences: identical' }),
  })
  .meta({ id: 'RulesNow' });

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
  '/reports/{id}.json': reading(
    {
      id: 'runReport',
      tag: 'reports',
      path: report,
      problems: MADE,
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

function part(id: string, summary: string) {
  return { id, summary, tag: 'review', path: delivery, problems: NO_SUCH };
}

const PARTS = {
  '/deliveries/{id}/raw.json': jsonOf(part('getRawDelivery', 'Its mirrored rows'), rawSchema),
  '/deliveries/{id}/now.json': jsonOf(
    part('explainNow', 'What the rules say of it now; decides nothing'),
    nowSchema,
  ),
};

export const GOODS_PATHS = { ...REPORTS, ...PARTS };
