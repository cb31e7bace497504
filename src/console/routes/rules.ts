/** Routes for rules with their twins, and for what people may do to them. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { missingForArming } from '../../decisions/reject/arm.ts';
import { readBreaker } from '../../decisions/reject/breaker.ts';
import { rules } from '../../decisions/reject/lists.ts';
import { type Reload, reloadRules, reloadSchema } from '../../decisions/reject/surface.ts';
import type { StoredRuleSet } from '../../decisions/simulation/rule-sets.ts';
import { RefusedError } from '../../lib/errors.ts';
import { nearestName } from '../../lib/nearest.ts';
import type { Rule } from '../../rules/rule.ts';
import { previewSchema } from '../../surface/acts.ts';
import type { RuleFigures } from '../../surface/reading.ts';
import { requireRole } from '../../surface/roles.ts';
import { askFor, RefusedHere, signedIn } from '../context.ts';
import { maskPrivate } from '../mask.ts';
import { armPage, reloadPage } from '../pages/rule-acts.ts';
import { CELLS, rulePage, rulesPage } from '../pages/rules.ts';
import { privateOfDeliveries, type RuleView, readMatches, readRule } from '../read/rules.ts';
import { inForceOf } from '../rules.ts';
import { isoTimes } from '../show.ts';
import { listPart, readingFor, readView } from '../surface/lists.ts';
import { createActing } from './acts.ts';
import { idParams, type PageContext } from './page-context.ts';

export const ruleQuery = z.object({
  /** Hash of the rule set to compare the rule with. */
  version: z.string().max(100).optional(),
});
const armQuery = z.object({ before: z.coerce.number().int().min(1).optional() });

const armCommand = (id: string): string => `selvedge rules arm ${id} --reason "…"`;

/** Most matches among which the next one to look at is searched. */
const MATCHES_MAX = 500;

async function stored({ rulesShown }: PageContext): Promise<StoredRuleSet> {
  const inForce = await inForceOf(rulesShown);
  if (inForce) return inForce;
  const hint = 'selvedge rules check';
  throw new RefusedError('rules.unreadable', 'no rules are in force yet', { hint });
}

function ruleOf({ ruleSet: { rules } }: StoredRuleSet, id: string): Rule {
  const rule = rules.find((one) => one.id === id);
  if (rule) return rule;
  const near = nearestName(
    id,
    rules.map((one) => one.id),
  );
  const hint = near === undefined ? 'the list of rules is at /rules' : `did you mean ${near}?`;
  throw new RefusedError('rules.unknown', `there is no rule ${id}`, { hint });
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
  inForce: StoredRuleSet,
  rule: Rule,
  figures: readonly RuleFigures[] | undefined,
): Promise<RuleView> {
  const { version: wanted } = ruleQuery.parse(request.query);
  const view = await readRule(db, inForce, rule, { figures, wanted, now: clock.now() });
  if (signedIn(request).seesAddresses) return view;
  const shown = [
    ...(view.matches?.unseen ?? []).map(({ orderDeliveryId }) => orderDeliveryId),
    ...view.waiting.map(({ orderDeliveryId }) => orderDeliveryId),
  ];
  const others = await privateOfDeliveries(db, shown);
  const { matches, waiting } = maskPrivate(
    { matches: view.matches, waiting: view.waiting },
    others,
  );
  return { ...view, matches, waiting };
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
    const rule = ruleOf(inForce, name);
    const known = twin === 'json' ? await figures.now() : (await figures.soon()).rules;
    const view = await viewFor(context, request, inForce, rule, known);
    const tests = (await rulesShown()).tests();
    if (twin === 'json') {
      const own = tests?.tests.filter(({ ruleId }) => ruleId === name) ?? [];
      const results = own.map(({ name: test, expected, actual, ok }) => {
        return { name: test, expected, actual, ok };
      });
      return reply.send(isoTimes({ ...view, text: view.text ?? null, tests: results }));
    }
    const head = { title: rule.title, tab: '/rules', cli: ruleCommand(rule) } as const;
    const body = rulePage(view, rule, tests, await context.pauseReaderOf(request));
    return show(request, reply, head, body);
  });
}

async function showArming(context: PageContext, request: FastifyRequest, reply: FastifyReply) {
  const { db } = context.deps;
  const { before = Number.MAX_SAFE_INTEGER } = armQuery.parse(request.query);
  const inForce = await stored(context);
  const rule = ruleOf(inForce, idParams.parse(request.params).id);
  const { id, title, action } = rule;
  if (action !== 'reject') {
    const hint = 'only a rule with action: reject is armed';
    throw new RefusedError('rules.no_reject_rule', `${id} is no reject rule`, { hint });
  }
  const matches = await readMatches(db, rule, inForce.ruleSet, MATCHES_MAX);
  const found = matches.unseen.find(({ decisionId }) => decisionId < before);
  const { seesAddresses } = signedIn(request);
  const others =
    found && !seesAddresses ? await privateOfDeliveries(db, [found.orderDeliveryId]) : [];
  const match = found && !seesAddresses ? maskPrivate(found, others) : found;
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
  const head = {
    title: 'Reload the rules',
    tab: '/rules',
    cli: 'selvedge rules reload --dry-run',
  } as const;
  const body = reloadPage(preview, problem, await context.pauseReaderOf(request));
  return context.show(request, reply, head, body);
}

export function installRules(app: FastifyInstance, context: PageContext): void {
  app.get('/rules', (request, reply) => showRules(context, request, reply));
  app.get('/rules/reload', (request, reply) => showReload(context, request, reply));
  app.get('/rules/:id/arm', (request, reply) => showArming(context, request, reply));
  installRule(app, context);
}
