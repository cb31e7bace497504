/**
 * OpenAPI paths about rules and rules on trial, with the schemas of their answers; each is strict,
 * as in answers.ts.
 */
import { z } from 'zod';
import { keepReport, ruleSetDiff } from '../../decisions/reject/surface.ts';
import { wireSchema } from '../../surface/forms.ts';
import { detailSchema } from '../read/rules.ts';
import { ruleQuery } from '../routes/rules.ts';
import { trialAct } from '../routes/trial.ts';
import { actPaths } from '../surface/openapi.ts';
import { anyObject, numberOrNull, textOrNull, time } from './answers.ts';
import { csvOf, jsonOf, NO_SUCH, writing } from './route.ts';

const action = z.enum(['accept', 'hold', 'reject']);
const outcome = z.enum(['accept', 'hold', 'reject', 'no_rule', 'release']);
const amounts = z
  .record(z.string(), z.number().nullable())
  .meta({ description: 'By currency; null: not known' });

const lines = z.array(z.string());
const problem = z.strictObject({
  severity: z.enum(['error', 'warning', 'note']),
  file: z.string(),
  line: z.int(),
  column: z.int(),
  ruleId: z.string().optional(),
  message: z.string(),
  hint: z.string().optional(),
  source: z.string(),
  length: z.int(),
});

const change = z.strictObject({
  from: outcome,
  to: outcome,
  deliveries: z.int(),
  amounts,
  examples: lines,
});

const prospect = z.strictObject({
  orderDeliveryId: z.int().min(1),
  deliveryNo: z.string(),
  before: outcome.nullable(),
  after: outcome.nullable(),
  rules: lines,
  reason: z.string(),
  amount: numberOrNull,
  currency: textOrNull,
});

const backtestSchema = z
  .strictObject({
    since: time,
    until: time,
    rules: z.string(),
    against: textOrNull,
    judged: z.record(z.string(), z.string()),
    deliveries: z.int(),
    decisions: z.int(),
    found: z.int(),
    notKnown: z
      .strictObject({
        deliveries: z.int(),
        facts: z.record(z.string(), z.int()),
        lastAt: time.nullable(),
        examples: z.array(z.int()),
      })
      .meta({ description: 'Deliveries whose outcome depends on facts that nobody knows' }),
    changes: z.array(change),
    unchanged: z.array(change),
    changed: z
      .array(
        z.strictObject({
          orderDeliveryId: z.int().min(1),
          deliveryNo: z.string(),
          decisionId: z.int().min(1),
          from: outcome,
          to: outcome,
          amount: numberOrNull,
          currency: textOrNull,
        }),
      )
      .meta({ description: 'The first 500' }),
    agreement: z.array(z.strictObject({ outcome, actual: z.string(), deliveries: z.int() })),
    uses: z.array(
      z.strictObject({
        id: z.string(),
        action,
        mode: z.string(),
        fired: z.int(),
        unknown: z.int(),
        notGathered: z.int(),
      }),
    ),
    moves: z.array(anyObject).meta({ description: 'Other limits, and what they would let pass' }),
    together: z.array(lines),
    rejects: z.array(anyObject).meta({ description: 'The first 20, with why' }),
    rejectCount: z.int(),
    newRejects: z.int(),
    rejectAmounts: amounts,
  })
  .meta({ id: 'Backtest' });

const trialSchema = z
  .strictObject({
    id: z.string(),
    state: z.enum(['running', 'done', 'failed']),
    startedAt: time,
    progress: z.strictObject({ deliveries: z.int(), of: z.int() }).nullable(),
    problem: textOrNull.meta({ description: 'Why it failed' }),
    problems: z.array(problem).meta({ description: 'Mistakes: nothing was tried' }),
    trial: z
      .strictObject({
        diff: wireSchema(ruleSetDiff),
        warnings: z.array(problem),
        tests: z.strictObject({ passed: z.int(), failed: z.array(anyObject) }),
        queue: z.strictObject({ prospects: z.array(prospect), remarks: lines }),
        backtest: backtestSchema,
      })
      .nullable(),
  })
  .meta({ id: 'RuleTrial' });

const rule = z.object({
  id: z.string().meta({ description: 'Its id', example: 'hold-short-stock' }),
});
const trial = z.object({ id: z.string().meta({ description: 'As its start answered' }) });
const ofTrial = { tag: 'rules', role: 'operator', path: trial, problems: NO_SUCH } as const;

export const RULE_PATHS = {
  '/rules/{id}.json': jsonOf(
    {
      id: 'getRule',
      tag: 'rules',
      path: rule,
      query: ruleQuery,
      problems: NO_SUCH,
      summary: 'A rule with its text, tests, matches and versions',
    },
    wireSchema(detailSchema),
  ),
  '/rules/trial': writing({
    id: 'tryRules',
    tag: 'rules',
    role: 'operator',
    body: trialAct,
    summary: 'Try rules on what is pending and on the past; ask for the result by its id',
    done: z.strictObject({ trial: z.string() }),
  }),
  '/rules/trial/{id}.json': jsonOf(
    { ...ofTrial, id: 'getTrial', summary: 'A trial of yours' },
    trialSchema,
  ),
  '/rules/trial/{id}.csv': csvOf({
    ...ofTrial,
    id: 'getTrialCsv',
    summary: 'What is pending, and what would have been decided otherwise',
  }),
  ...actPaths([{ ...keepReport, input: z.strictObject({ trial: trial.shape.id }) }]),
};
