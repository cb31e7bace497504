/** Schemas of answers about stock, reports and the parts of a delivery; each is strict. */
import { z } from 'zod';
import {
  anyObject,
  counterfactualsSchema,
  evaluationSchema,
  idOrNull,
  numberOrNull,
  textOrNull,
  time,
} from './answers.ts';

const timeOrNull = time.nullable();

export const stylesSchema = z
  .strictObject({
    rows: z.array(
      z.strictObject({
        style: z.string(),
        styleName: textOrNull,
        brand: textOrNull,
        colors: z.int(),
        variants: z.int().meta({ description: '0: the stock list does not have it' }),
        inStock: z.int().meta({ description: 'Variants with more than 0 pieces' }),
        pieces: z.int(),
        below: z.int().meta({ description: 'Variants with fewer than 0 pieces' }),
      }),
    ),
    next: textOrNull.meta({ description: 'The `after` of the next page' }),
  })
  .meta({ id: 'Styles' });

const cellSchema = z.strictObject({
  barcode: z.string(),
  color: textOrNull,
  colorCode: textOrNull,
  size: textOrNull,
  onHand: idOrNull,
  packed: idOrNull.meta({ description: 'Packed and not shipped; null of the past' }),
  free: idOrNull.meta({ description: 'On hand, less what is packed' }),
  toPack: idOrNull.meta({ description: 'What open orders without a season still want' }),
  coverPercent: idOrNull.meta({ description: 'Share of that which is free' }),
});

export const styleStockSchema = z
  .strictObject({
    style: z.string(),
    styleName: textOrNull,
    brand: textOrNull,
    asOf: timeOrNull.meta({ description: 'Null: now' }),
    sizes: z.array(z.string()).meta({ description: 'In their order' }),
    cells: z.array(cellSchema),
    seasons: z.array(
      z.strictObject({
        season: z.string(),
        window: textOrNull,
        pieces: idOrNull,
        toPack: z.int(),
        left: idOrNull,
      }),
    ),
    wanted: z
      .array(
        z.strictObject({
          orderId: z.int(),
          orderNo: textOrNull,
          reference: textOrNull,
          accountNo: textOrNull,
          company: textOrNull,
          country: textOrNull,
          season: textOrNull,
          window: textOrNull,
          orderedAt: time,
          barcode: z.string(),
          color: textOrNull,
          size: textOrNull,
          pieces: idOrNull,
          toPack: z.int(),
        }),
      )
      .meta({ description: 'Lines of open orders, the newest first; none of the past' }),
  })
  .meta({ id: 'StyleStock' });

const scheduleSchema = z.strictObject({
  name: z.string(),
  report: z.string(),
  every: z.string(),
  format: z.string(),
  nextAt: timeOrNull,
  retryAt: timeOrNull,
  last: z
    .strictObject({ at: time, isGood: z.boolean(), rows: idOrNull, says: z.string() })
    .nullable(),
});

export const reportsSchema = z
  .strictObject({
    reports: z.array(
      z.strictObject({
        name: z.string(),
        title: z.string(),
        about: textOrNull,
        params: z.record(
          z.string(),
          z.strictObject({
            type: z.enum(['text', 'number', 'time']),
            about: z.string(),
            choices: z.array(z.string()).optional(),
            default: z.string().optional(),
          }),
        ),
        schedules: z.array(scheduleSchema),
      }),
    ),
    wrong: z
      .array(z.strictObject({ name: z.string(), message: z.string() }))
      .meta({ description: 'Files that are no reports' }),
  })
  .meta({ id: 'Reports' });

export const reportRowsSchema = z
  .strictObject({
    name: z.string(),
    title: z.string(),
    about: z.string().meta({ description: 'Parameters and time of the run, in words' }),
    notes: z.array(z.string()).meta({ description: 'What the rows do not tell' }),
    rows: z.array(z.record(z.string(), z.union([z.string(), z.number(), z.null()]))),
  })
  .meta({ id: 'ReportRows' });

export const rawSchema = z
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

export const changesSchema = z
  .strictObject({
    rows: z.array(
      z.strictObject({
        seq: z.int().meta({ description: 'Its number in the change feed' }),
        at: time,
        entity: z.enum(['delivery', 'sales_order']),
        op: z.enum(['insert', 'update', 'delete', 'restore']),
        diff: anyObject.meta({ description: 'By column: before and after' }),
        cause: z.string(),
      }),
    ),
    next: textOrNull.meta({ description: 'The `before` of the next page' }),
  })
  .meta({ id: 'DeliveryChanges' });

export const factsSchema = z
  .strictObject({
    facts: z.array(z.strictObject({ path: z.string(), value: textOrNull, about: z.string() })),
  })
  .meta({ id: 'Facts' });

export const nowSchema = z
  .strictObject({
    status: textOrNull,
    evaluation: evaluationSchema,
    inWay: textOrNull.meta({ description: 'Why it is not decided so' }),
    asked: textOrNull.meta({ description: 'Which rules see it, where it is not pending' }),
    decisionId: numberOrNull.meta({ description: 'The decision that set its status' }),
    counterfactuals: counterfactualsSchema,
    replay: z
      .strictObject({
        decisionId: z.int(),
        at: time,
        outcome: z.string(),
        differences: z.array(z.string()),
      })
      .nullable()
      .meta({ description: 'The latest decision once more; no differences: identical' }),
  })
  .meta({ id: 'RulesNow' });
