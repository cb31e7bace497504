/** Routes for rules with their twins, and for what people may do to them. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { missingForArming } from '../../decisions/reject/arm.ts';
import { readBreaker } from '../../decisions/reject/breaker.ts';
import { ordersOfDeliveries, ruleIn, rules } from '../../decisions/reject/lists.ts';
import { type Reload, reloadRules, reloadSchema } from '../../decisions/reject/surface.ts';
import type { LoadedRuleSet } from '../../decisions/rule-files.ts';
import { RefusedError } from '../../lib/errors.ts';
import type { Rule } from '../../rules/rule.ts';
import { previewSchema } from '../../surface/acts.ts';
import { toWire } from '../../surface/forms.ts';
import type { RuleFigures } from '../../surface/reading.ts';
import { requireRole } from '../../surface/roles.ts';
import { askFor, RefusedHere, signedIn } from '../context.ts';
import { armPage, reloadPage } from '../pages/rule-acts.ts';
import { CELLS, rulePage, rulesPage } from '../pages/rules.ts';
import { detailSchema, matchesOf, type RuleView, readRule } from '../read/rules.ts';
import { inForceOf } from '../rules.ts';
import { listPart, readingFor, readView } from '../surface/lists.ts';
import { createActing } from './acts.ts';
import { idParams, maskedForOrders, type PageContext } from './page-context.ts';

export const ruleQuery = z.object({
  /** Hash of the rule set to compare the rule with. */
  version: z.string().max(100).optional(),
});
const armQuery = z.object({ before: z.string().max(20).optional() });

const armCommand = (id: string): string => `selvedge rules arm ${id} --reason "…"`;

async function stored({ rulesShown }: PageContext): Promise<LoadedRuleSet> {
  const inForce = await inForceOf(rulesShown);
  if (inForce) return inForce;
  const hint = 'selvedge rules check';
  throw new RefusedError('rules.unreadable', 'no rules are in force yet', { hint });
}

/** The list, which does not wait until its figures are counted. */
async function showRules(context: PageContext, request: FastifyRequest, reply: FastifyReply) {
  const { inForce, unreadable } = await context.rulesShown();
  const figures = await context.figures.soon();
  const from = readingFor(context, request);
  const soon = { ...from, rules: { ...from.rules, figures: async () => figures.rules } };
  const table =
    inForce && listPart(rules, await readView(context, request, rules, undefined, soon), CELLS);
  const breaker = await readBreaker(context.deps.db);
  const head = { title: 'Rules', tab: '/rules', cli: 'selvedge rules list' } as const;
  const view = { ruleSet: inForce?.ruleSet, unreadable, table, breaker, figures };
  return context.show(request, reply, head, rulesPage(view, await context.pauseReaderOf(request)));
}

/**
 * A rule with its details, masked unless the session may see names and addresses: messages and
 * values quote customers.
 */
async function viewFor(
  { deps: { db, clock } }: PageContext,
  request: FastifyRequest,
  inForce: LoadedRuleSet,
  rule: Rule,
  figures: readonly RuleFigures[] | undefined,
): Promise<RuleView> {
  const { version: wanted } = ruleQuery.parse(request.query);
  const view = await readRule(db, inForce, rule, { figures, wanted, now: clock.now() });
  const shown = [
    ...(view.matches?.unseen ?? []).map(({ orderDeliveryId }) => orderDeliveryId),
    ...view.waiting.map(({ orderDeliveryId }) => orderDeliveryId),
  ];
  const quoting = { matches: view.matches, waiting: view.waiting };
  const orders = await ordersOfDeliveries(db, shown);
  return { ...view, ...(await maskedForOrders(request, db, orders, quoting)) };
}

function ruleCommand({ id, action }: Rule): string {
  return action === 'reject' ? `selvedge rules matches ${id}` : 'selvedge rules list';
}

function installRule(app: FastifyInstance, context: PageContext): void {
  const { rulesShown, figures, show } = context;
  app.get('/rules/:id', async (request, reply) => {
    const { id } = idParams.parse(request.params);
    const [, name = id, twin] = /^(.*)\.(json)$/.exec(id) ?? [];
    const inForce = await stored(context);
    const rule = ruleIn(inForce.ruleSet, name);
    const known = twin === 'json' ? await figures.now() : (await figures.soon()).rules;
    const view = await viewFor(context, request, inForce, rule, known);
    const tests = (await rulesShown()).tests();
    if (twin === 'json') {
      const own = tests?.tests.filter(({ ruleId }) => ruleId === name) ?? [];
      const results = own.map(({ name: test, expected, actual, ok }) => {
        return { name: test, expected, actual, ok };
      });
      return reply.send(toWire(detailSchema, { ...view, tests: results }));
    }
    const head = { title: rule.title, tab: '/rules', cli: ruleCommand(rule) } as const;
    const body = rulePage(view, rule, tests, await context.pauseReaderOf(request));
    return show(request, reply, head, body);
  });
}

async function showArming(context: PageContext, request: FastifyRequest, reply: FastifyReply) {
  const { db } = context.deps;
  const { before } = armQuery.parse(request.query);
  const inForce = await stored(context);
  const rule = ruleIn(inForce.ruleSet, idParams.parse(request.params).id);
  const { id, title, action } = rule;
  if (action !== 'reject') {
    const hint = 'only a rule with action: reject is armed';
    throw new RefusedError('rules.no_reject_rule', `${id} is no reject rule`, { hint });
  }
  const page = { after: before, limit: 1 };
  const matches = await matchesOf(db, rule, inForce.ruleSet, page);
  const [found] = matches.unseen;
  const orders = found ? await ordersOfDeliveries(db, [found.orderDeliveryId]) : [];
  const match = await maskedForOrders(request, db, orders, found);
  const missing = await missingForArming(db, inForce.ruleSet, rule);
  const head = { title: `Arm ${title}`, tab: '/rules', cli: armCommand(id) } as const;
  const body = armPage(
    { id, title, missing, matches, match },
    await context.pauseReaderOf(request),
  );
  return context.show(request, reply, head, body);
}

async function showReload(context: PageContext, request: FastifyRequest, reply: FastifyReply) {
  requireRole(signedIn(request).role, reloadRules.name, reloadRules.role);
  const by = createActing(context.deps).askerOf(request);
  const asked = { act: reloadRules.name, given: {}, reason: '', dryRun: true };
  let preview: Reload | undefined;
  let problem: string | undefined;
  try {
    const answered = await askFor(context.deps, { ask: 'perform', by, request: asked });
    const { lines: _, seen: __, ...found } = previewSchema.parse(answered);
    preview = reloadSchema.parse(found);
  } catch (error) {
    if (!(error instanceof RefusedHere)) throw error;
    problem = [error.refusal.message, error.refusal.hint].filter(Boolean).join('\n');
  }
  const cli = 'selvedge rules reload --dry-run';
  const head = { title: 'Reload the rules', tab: '/rules', cli } as const;
  const body = reloadPage(preview, problem, await context.pauseReaderOf(request));
  return context.show(request, reply, head, body);
}

export function installRules(app: FastifyInstance, context: PageContext): void {
  app.get('/rules', (request, reply) => showRules(context, request, reply));
  app.get('/rules/reload', (request, reply) => showReload(context, request, reply));
  app.get('/rules/:id/arm', (request, reply) => showArming(context, request, reply));
  installRule(app, context);
}
