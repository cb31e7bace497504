/** Routes for rules with their twins, and for what people may do to them. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { missingForArming } from '../../decisions/reject/arm.ts';
import { type Reload, reloadRules, reloadSchema } from '../../decisions/reject/surface.ts';
import { rejectOverview } from '../../decisions/review/overview.ts';
import type { RuleFigures } from '../../decisions/simulation/rule-figures.ts';
import type { StoredRuleSet } from '../../decisions/simulation/rule-sets.ts';
import { RefusedError } from '../../lib/errors.ts';
import { nearestName } from '../../lib/nearest.ts';
import type { Rule } from '../../rules/rule.ts';
import { storeOptions } from '../../store/store.ts';
import { previewSchema } from '../../surface/acts.ts';
import { requireRole } from '../../surface/roles.ts';
import { askFor, RefusedHere, signedIn } from '../context.ts';
import { createFigureCounter, type FigureCounter } from '../figures.ts';
import { maskPrivate } from '../mask.ts';
import { armPage, reloadPage } from '../pages/rule-acts.ts';
import { rulePage, rulesPage } from '../pages/rules.ts';
import {
  privateOfDeliveries,
  type RuleRow,
  type RuleView,
  readMatches,
  readRule,
  ruleRows,
} from '../read/rules.ts';
import { isoTime, isoTimes, sendCsv, type Table } from '../show.ts';
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

async function inForceOf({ rulesShown }: PageContext): Promise<StoredRuleSet> {
  const { inForce, unreadable } = await rulesShown();
  if (inForce) return inForce;
  const message = unreadable ?? 'no rules are in force yet';
  throw new RefusedError('rules.unreadable', message, { hint: 'selvedge rules check' });
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

function rulesTable(rows: readonly RuleRow[]): Table {
  return {
    columns: [
      ...['rule', 'title', 'action', 'mode', 'owner', 'file', 'line', 'matches_24h'],
      ...['matches_7d', 'matches_30d', 'people_accepted', 'people_rejected', 'near_misses'],
      ...['armed_until', 'waiting'],
    ],
    rows: rows.map(({ figures, ...row }) => [
      ...[row.id, row.title, row.action, row.mode, row.owner, row.file, row.line],
      ...[figures?.day ?? null, figures?.week ?? null, figures?.month ?? null],
      ...[figures?.accepted ?? null, figures?.rejected ?? null, figures?.nearMisses ?? null],
      ...[isoTime(row.armed?.expiresAt ?? null), row.waiting],
    ]),
  };
}

function installList(app: FastifyInstance, context: PageContext, figures: FigureCounter): void {
  const { deps, rulesShown, show } = context;
  const { db, clock } = deps;
  const counted = async () => {
    const { inForce } = await rulesShown();
    if (!inForce) return { set: null, mode: null, rules: [] };
    const { ruleSet } = inForce;
    const rejects = await rejectOverview(db, clock.now(), ruleSet);
    const rules = ruleRows(ruleSet, rejects, await figures.now());
    return { set: ruleSet.hash, mode: ruleSet.settings.mode, rules };
  };
  app.get('/rules', async (request, reply) => {
    const { inForce, unreadable } = await rulesShown();
    const ruleSet = inForce?.ruleSet;
    const rejects = await rejectOverview(db, clock.now(), ruleSet);
    const known = await figures.soon();
    const rows = ruleSet ? ruleRows(ruleSet, rejects, known.rules) : [];
    const head = { title: 'Rules', tab: '/rules', cli: 'selvedge rules list' } as const;
    const view = { ruleSet, unreadable, rows, rejects, figures: known };
    return show(request, reply, head, rulesPage(view, await context.pauseReaderOf(request)));
  });
  app.get('/rules.json', async () => isoTimes(await counted()));
  app.get('/rules.csv', async (request, reply) =>
    sendCsv(request, reply, 'rules', rulesTable((await counted()).rules)),
  );
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

function installRule(app: FastifyInstance, context: PageContext, figures: FigureCounter): void {
  const { rulesShown, show } = context;
  app.get('/rules/:id', async (request, reply) => {
    const { id } = idParams.parse(request.params);
    const [, name = id, twin] = /^(.*)\.(json)$/.exec(id) ?? [];
    const inForce = await inForceOf(context);
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
  const inForce = await inForceOf(context);
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
  const { settings, clock } = context.deps;
  const figures = createFigureCounter(storeOptions(settings.machine), clock);
  app.addHook('onClose', async () => figures.close());
  installList(app, context, figures);
  app.get('/rules/reload', (request, reply) => showReload(context, request, reply));
  app.get('/rules/:id/arm', (request, reply) => showArming(context, request, reply));
  installRule(app, context, figures);
}
