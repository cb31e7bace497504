/** Routes for rules on trial: the form, the start, and the result with its twins. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ordersOfDeliveries } from '../../decisions/reject/lists.ts';
import { keepReport } from '../../decisions/reject/surface.ts';
import type { Trial } from '../../decisions/simulation/trial.ts';
import { type TrialFiles, textOfRule } from '../../decisions/simulation/trial-files.ts';
import { RefusedError } from '../../lib/errors.ts';
import { notUtf8At } from '../../lib/strings.ts';
import { LISTS_FILE } from '../../rules/load.ts';
import { storeOptions } from '../../store/store.ts';
import { isoTime } from '../../surface/forms.ts';
import { requireRole } from '../../surface/roles.ts';
import { signedIn } from '../context.ts';
import { TRIES_RULES } from '../pages/rules.ts';
import { TRIAL_CHARS_MAX, type TrialForm, trialPage, trialResultPage } from '../pages/trial.ts';
import { isForPeople, isoTimes, sendCsv, type Table } from '../show.ts';
import { answerAct } from '../surface/http.ts';
import { createTrials, type TrialRun, type Trials } from '../trials.ts';
import { idParams, maskedForOrders, type PageContext } from './page-context.ts';
import { askedOf, proposalsAddress, proposalToTry } from './suggest.ts';

const DAY_MS = 86_400_000;
const DAYS = 30;
const DAYS_MAX = 366;
const FILES_MAX = 20;
/** Largest body of a trial in bytes, because letters may take several. */
const BODY_BYTES_MAX = 1_048_576;

const flag = z
  .union([z.boolean(), z.enum(['', '0', '1'])])
  .default(false)
  .transform((on) => on === true || on === '1');

const file = z.object({
  path: z
    .string()
    .max(200)
    .regex(/^[^/\\]+\.(?:yaml|csv)$/, 'a name that ends in .yaml or .csv, without folders'),
  text: z.string(),
});

export const trialAct = z
  .object({
    /** Rule files to try; left out: the rules in force are tried. */
    files: z.array(file).min(1, 'paste rules, or choose a file').max(FILES_MAX).optional(),
    /**
     * Replaced part of the rules in force: `rules`: each rule with the same id; `files`: each file
     * with the same name; `all`: everything.
     */
    over: z.enum(['rules', 'files', 'all']).default('rules'),
    days: z.coerce.number().int().min(1).max(DAYS_MAX).default(DAYS),
    shadowAsLive: flag,
  })
  .refine(
    ({ files = [] }) => files.reduce((sum, { text }) => sum + text.length, 0) <= TRIAL_CHARS_MAX,
    { error: `all texts together may have ${TRIAL_CHARS_MAX} characters` },
  );

const trialForm = z.object({
  text: z.string().default(''),
  what: z.string().max(250).default('rules'),
  days: z.string().default(String(DAYS)),
  shadowAsLive: flag,
  uploads: z.array(file).default([]),
});

const formQuery = z.object({
  rule: z.string().max(100).optional(),
  file: z.string().max(200).optional(),
  proposal: z.string().max(40).optional(),
  what: z.enum(['rules', 'all', 'in-force']).optional(),
});

/** File name given to rules that were pasted. */
const PASTED = 'pasted.yaml';

/** Translates the form's fields into the body that programs send. */
function bodyOfForm(body: unknown): unknown {
  const { text, what, days, shadowAsLive, uploads } = trialForm.parse(body);
  if (what === 'in-force') return { days, shadowAsLive };
  const path = what.startsWith('file:') ? what.slice('file:'.length) : PASTED;
  const pasted = text.trim() === '' ? [] : [{ path, text }];
  const over = what === 'rules' || what === 'all' ? what : 'files';
  return { files: [...pasted, ...uploads], over, days, shadowAsLive };
}

/** Fields and uploaded files of a multipart form. */
async function readMultipart(request: FastifyRequest, body: Buffer): Promise<unknown> {
  const headers = { 'content-type': request.headers['content-type'] ?? '' };
  const data = await new Response(body, { headers }).formData().catch(() => {
    throw new RefusedError('rules.form', 'the form cannot be read', { hint: 'send it again' });
  });
  const uploads: { readonly path: string; readonly text: string }[] = [];
  for (const one of data.getAll('upload')) {
    if (typeof one === 'string' || one.name === '') continue;
    const bytes = Buffer.from(await one.arrayBuffer());
    if (notUtf8At(bytes)) {
      const hint = 'save it in this encoding';
      throw new RefusedError('rules.encoding', `${one.name} is not UTF-8 text`, { hint });
    }
    uploads.push({ path: one.name, text: bytes.toString('utf8') });
  }
  const fields = [...data].filter(([, value]) => typeof value === 'string');
  return { ...Object.fromEntries(fields), uploads };
}

function requireTrying(request: FastifyRequest): void {
  requireRole(signedIn(request).role, 'rules.try', TRIES_RULES);
}

/** Form as it is at first: names of the files in force, and the rule or file to edit. */
async function formFor({ rulesShown }: PageContext, request: FastifyRequest): Promise<TrialForm> {
  const { rule, file: wanted, what = 'rules' } = formQuery.parse(request.query);
  const { inForce } = await rulesShown();
  const files = (inForce?.files ?? []).filter(({ path }) => path !== LISTS_FILE);
  const form = { days: DAYS, shadowAsLive: false, files: files.map(({ path }) => path) };
  const whole = files.find(({ path }) => path === wanted);
  if (whole) return { ...form, text: whole.text, what: `file:${whole.path}` };
  const found = rule === undefined ? undefined : textOfRule(files, rule);
  const [first = '', ...rest] = found?.lines ?? [];
  const text = found ? `rules:\n${[first, ...rest].join('\n')}\n` : '';
  return { ...form, text, what };
}

/** The form with the rules that were tried, so that they can be changed and tried again. */
function formAgain({ wish }: TrialRun, form: TrialForm, days: number): TrialForm {
  const { files, shadowAsLive } = wish;
  const [first] = files?.files ?? [];
  const whats = { rules: 'rules', all: 'all', files: `file:${first?.path}` } as const;
  const what = files ? whats[files.over] : 'in-force';
  return { ...form, text: first?.text ?? '', what, days, shadowAsLive };
}

/** Result of a trial, masked unless the session may see names and addresses. */
async function trialFor(
  { deps: { db } }: PageContext,
  request: FastifyRequest,
  trial: Trial,
): Promise<Trial> {
  const { queue, backtest } = trial;
  const told = [...queue.prospects, ...backtest.rejects].map((one) => one.orderDeliveryId);
  const quoting = { prospects: queue.prospects, rejects: backtest.rejects };
  const masked = await maskedForOrders(request, db, await ordersOfDeliveries(db, told), quoting);
  return {
    ...trial,
    queue: { ...queue, prospects: masked.prospects },
    backtest: { ...backtest, rejects: masked.rejects },
  };
}

function trialTable({ queue, backtest }: Trial): Table {
  return {
    columns: [
      'when',
      'delivery',
      'number',
      'was',
      'would_be',
      'value',
      'currency',
      'rules',
      'reason',
    ],
    rows: [
      ...queue.prospects.map((one) => [
        'pending',
        one.orderDeliveryId,
        one.deliveryNo,
        one.before,
        one.after,
        one.amount,
        one.currency,
        one.rules.join(' '),
        one.reason,
      ]),
      ...backtest.changed.map((one) => [
        'past',
        one.orderDeliveryId,
        one.deliveryNo,
        one.from,
        one.to,
        one.amount,
        one.currency,
        null,
        null,
      ]),
    ],
  };
}

function notFound(): RefusedError {
  return new RefusedError('rules.trial.unknown', 'there is no such trial of yours any more', {
    hint: 'results stay in memory for a while only: try again at /rules/trial',
  });
}

function datedBacktest({ backtest: { until, ...rest } }: Trial) {
  return { ...rest, until: isoTime(until) };
}

/** JSON of a trial for programs. */
function trialJson({ id, state, startedAt, progress, problem, end }: TrialRun, trial?: Trial) {
  return isoTimes({
    id,
    state,
    startedAt,
    progress: progress ?? null,
    problem: problem ?? null,
    problems: end && 'problems' in end ? end.problems : [],
    trial: trial ? { ...trial, backtest: datedBacktest(trial) } : null,
  });
}

async function showTrial(
  context: PageContext,
  trials: Trials,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  requireTrying(request);
  const { id } = idParams.parse(request.params);
  const [, name = id, twin] = /^(.*)\.(json|csv)$/.exec(id) ?? [];
  const { sessionId } = signedIn(request);
  const found =
    twin === undefined ? await trials.soon(sessionId, name) : trials.find(sessionId, name);
  if (!found) throw notFound();
  const { end } = found;
  const trial = end && 'trial' in end ? await trialFor(context, request, end.trial) : undefined;
  if (twin === 'json') return reply.send(trialJson(found, trial));
  if (twin === 'csv') {
    if (!trial) throw notFound();
    return sendCsv(request, reply, 'trial', trialTable(trial));
  }
  const { since, until } = found.wish;
  const days = Math.round((until - since) / DAY_MS);
  const head = {
    title: 'Rules on trial',
    tab: '/rules',
    cli: `selvedge rules backtest --since ${days}d --rules my-rules`,
  } as const;
  const form = formAgain(found, await formFor(context, request), days);
  const shown = trial ? { ...found, end: { trial } } : found;
  const body = trialResultPage(shown, form, await context.pauseReaderOf(request));
  return context.show(request, reply, head, body);
}

function installStart(app: FastifyInstance, { deps }: PageContext, trials: Trials): void {
  const { clock } = deps;
  app.addContentTypeParser(
    'multipart/form-data',
    { parseAs: 'buffer', bodyLimit: BODY_BYTES_MAX },
    (request: FastifyRequest, body: Buffer) => readMultipart(request, body),
  );
  app.post('/rules/trial', { bodyLimit: BODY_BYTES_MAX }, async (request, reply) => {
    requireTrying(request);
    const body = isForPeople(request) ? bodyOfForm(request.body) : request.body;
    const { files, over, days, shadowAsLive } = trialAct.parse(body);
    const until = clock.now();
    const on: TrialFiles | null = files ? { files, over } : null;
    const period = { since: until - days * DAY_MS, until };
    const { id } = trials.start(signedIn(request).sessionId, {
      ...period,
      shadowAsLive,
      files: on,
    });
    if (!isForPeople(request)) return reply.send({ trial: id });
    return reply.code(303).header('location', `/rules/trial/${id}`).send();
  });
}

/** Most rejects that a kept backtest lists in full; all of them are counted. */
const REJECTS_KEPT_MAX = 20;

function installKeep(app: FastifyInstance, context: PageContext, trials: Trials): void {
  app.post(keepReport.path.replace('{id}', ':id'), async (request, reply) => {
    const { role, sessionId } = signedIn(request);
    requireRole(role, keepReport.name, keepReport.role);
    const { id } = idParams.parse(request.params);
    const found = trials.find(sessionId, id);
    const end = found?.end;
    if (!end || !('trial' in end)) throw notFound();
    if (found.wish.files !== null) {
      const hint = 'put the rules in force first, then try those in force';
      throw new RefusedError('rules.not_in_force', 'these rules are not in force', { hint });
    }
    const { backtest } = end.trial;
    const rejects = backtest.rejects.slice(0, REJECTS_KEPT_MAX);
    const { since, until, deliveries, judged: rules } = backtest;
    const report = {
      ruleSetHash: backtest.rules,
      since,
      until,
      deliveries,
      rules,
      report: { ...backtest, changed: [], rejects },
    };
    const known = { given: { report }, back: `/rules/trial/${id}` };
    return answerAct(context, keepReport, [request, reply], known);
  });
}

export function installTrial(app: FastifyInstance, context: PageContext): void {
  const { settings, clock, log } = context.deps;
  const { machine, freshnessMs: freshness } = settings;
  const trials = createTrials({ store: storeOptions(machine), freshness }, clock, log);
  app.addHook('onClose', async () => trials.close());
  app.get('/rules/trial', async (request, reply) => {
    requireTrying(request);
    const { proposal } = formQuery.parse(request.query);
    const proposed = proposal && (await proposalToTry(context, request, proposal));
    if (proposal !== undefined && !proposed) {
      return reply.redirect(proposalsAddress(askedOf(request)));
    }
    const head = {
      title: 'Try rules',
      tab: '/rules',
      cli: 'selvedge rules whatif --rules my-rules',
    } as const;
    const form = { ...(await formFor(context, request)), ...(proposed || {}) };
    return context.show(request, reply, head, trialPage(form));
  });
  app.get('/rules/trial/:id', (request, reply) => showTrial(context, trials, request, reply));
  // A scope of its own, so that no other route accepts forms with files.
  app.register(async (inside) => installStart(inside, context, trials));
  installKeep(app, context, trials);
}
