/**
 * Serves declared acts at the console: an address for forms and programs, and a page with what an
 * act would do. The daemon's loop does it; this thread only reads what was sent.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type Html, html } from '../../lib/html.ts';
import { isJsonObject, tryParseJson } from '../../lib/json.ts';
import { dashed, shellWord } from '../../lib/strings.ts';
import { type ActHead, previewSchema } from '../../surface/acts.ts';
import { toWire } from '../../surface/forms.ts';
import { type Given, invalid } from '../../surface/given.ts';
import { answerForm, answersSchema } from '../../surface/many.ts';
import { isOptional, memberOf } from '../../surface/members.ts';
import { actNamed, type Request } from '../../surface/perform.ts';
import { mayDo } from '../../surface/roles.ts';
import { askFor, askForReply, signedIn } from '../context.ts';
import { backTo, type Notice, withNext } from '../done.ts';
import { createActing } from '../routes/acts.ts';
import { type PageContext, parametersOf } from '../routes/page-context.ts';
import { isForPeople } from '../show.ts';
import {
  actionOf,
  actPath,
  pageOf,
  type SharedAddress,
  sharedAddresses,
  tabOf,
} from './addresses.ts';
import { actForm } from './html.ts';
import { ACTS } from './registry.ts';

const idParams = z.object({ id: z.string().min(1).max(300).optional() });

interface Body {
  readonly given: Given;
  readonly reason: string;
  readonly dryRun: boolean;
  readonly back: string | undefined;
}

function textOf(value: unknown, member: string): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return value;
  throw invalid(`${member}: must be a text`);
}

/** Members of the act, apart from those that every act has. */
function bodyOf(of: ActHead, { body, params }: Pick<FastifyRequest, 'body' | 'params'>): Body {
  if (!isJsonObject(body ?? {})) throw invalid('the request must be an object');
  const { reason, dryRun, back, next, ...rest } = { ...Object(body) };
  const { id } = idParams.parse(params);
  const [first] = of.args;
  const isNamed = id !== undefined && first !== undefined;
  return {
    given: isNamed ? { ...rest, [first]: id } : rest,
    reason: textOf(reason, 'reason'),
    dryRun: dryRun === true || dryRun === '1' || dryRun === 'true',
    back: back ? withNext(backTo(textOf(back, 'back')), next && textOf(next, 'next')) : undefined,
  };
}

/** Undo of an act as a form; an act that cannot be taken back has none. */
function undoOf(of: ActHead, value: unknown, given: Given) {
  const undo = of.undo(value, given);
  if (!undo) return undefined;
  const { act } = undo;
  const [id, ...others] = act.args;
  const shown = Object.entries(undo.given).filter(([name]) => name !== id || others.includes(name));
  const path = actPath(act, undo.given);
  return { path, button: act.button, fields: Object.fromEntries(shown) };
}

const KEPT_HERE = ' Kept here only: PostgreSQL has not confirmed it, so a standby may lack it.';

/** Has an act done; a header tells programs where a standby may lack it. */
async function performed(
  { deps }: PageContext,
  [request, reply]: readonly [FastifyRequest, FastifyReply],
  asked: Request,
) {
  const { askerOf } = createActing(deps);
  const question = { ask: 'perform', by: askerOf(request), request: asked } as const;
  const { value, isKeptHere = false } = await askForReply(deps, question);
  if (isKeptHere) reply.header('selvedge-kept', 'here');
  return { value, told: isKeptHere ? KEPT_HERE : '' };
}

/** Does what was asked for: a program gets the answer, a person the page with the notice. */
async function answer(
  context: PageContext,
  [request, reply]: readonly [FastifyRequest, FastifyReply],
  asked: Request,
  [form, noticeOf]: readonly [
    z.core.$ZodType,
    (value: unknown) => Notice & { readonly back: string },
  ],
): Promise<FastifyReply> {
  const { value, told } = await performed(context, [request, reply], asked);
  if (asked.dryRun) return reply.send(value);
  if (!isForPeople(request)) return reply.send(toWire(form, value));
  const { back, text, ...notice } = noticeOf(value);
  const { notices } = context.deps;
  notices.put(signedIn(request).sessionId, { ...notice, text: text + told });
  return reply.code(303).header('location', backTo(back)).send();
}

function optionOf(name: string, schema: z.core.$ZodType, value: unknown): string {
  const isFlag = memberOf(schema)?.kind === 'flag';
  return ` --${dashed(name)}${isFlag ? '' : ` ${shellWord(String(value))}`}`;
}

function commandOf({ command, name, args, input, typed, choice }: ActHead, given: Given): string {
  const words = args.flatMap((one) => (given[one] === undefined ? [] : [String(given[one])]));
  const unsaid = new Set([...args, typed?.member, choice?.member]);
  const options = Object.entries(input.shape).map(([one, schema]) =>
    unsaid.has(one) || given[one] === undefined ? '' : optionOf(one, schema, given[one]),
  );
  const chosen = choice ? ` --${choice.option} ${choice.value}` : '';
  const named = words.map((word) => ` ${shellWord(word)}`);
  const all = [...named, chosen, ...options];
  return `selvedge ${command ?? name.replace('.', ' ')}${all.join('')}`;
}

/** Page with the secret of an answer, which is shown this once. */
function secretPage(of: ActHead, value: unknown, given: Given): Html {
  const { secret = '' } = of;
  const shown = String(Object(value)[secret]);
  const isWeb = /^https?:\/\//.test(shown);
  return html`<h1>${of.button}</h1>${
    isWeb
      ? html`<p><a class="button" href="${shown}" rel="noreferrer">Open it</a></p>`
      : html`<p><code>${shown}</code></p>`
  }<p>${of.done(value, given)}.</p><p><a href="${pageOf(of, given)}">Back</a></p>`;
}

/** Answers an act whose answer holds a secret: nothing keeps it. */
async function answerOnce(
  context: PageContext,
  [request, reply]: readonly [FastifyRequest, FastifyReply],
  of: ActHead,
  asked: Request,
): Promise<FastifyReply> {
  const { value } = await performed(context, [request, reply], asked);
  reply.header('cache-control', 'no-store');
  if (asked.dryRun) return reply.send(value);
  if (!isForPeople(request)) return reply.send(toWire(of.output, value));
  const head = { title: of.button, tab: tabOf(of), cli: commandOf(of, asked.given) };
  return context.show(request, reply, head, secretPage(of, value, asked.given));
}

/** Members of an act that the console itself knows, and the page to return to. */
interface Known {
  readonly given: Given;
  readonly back: string;
}

/** Does an act, or tells its effect. */
export function answerAct(
  context: PageContext,
  of: ActHead,
  asker: readonly [FastifyRequest, FastifyReply],
  known?: Known,
): Promise<FastifyReply> {
  const { back, ...wanted } = bodyOf(of, asker[0]);
  const given = { ...wanted.given, ...known?.given };
  const noticeOf = (value: unknown) => ({
    text: `${of.notice(value, given)}.`,
    undo: undoOf(of, value, given),
    back: back ?? known?.back ?? pageOf(of, given),
  });
  const asked = { act: of.name, ...wanted, given };
  if (of.secret !== undefined) return answerOnce(context, asker, of, asked);
  return answer(context, asker, asked, [of.output, noticeOf]);
}

function mountAct(app: FastifyInstance, context: PageContext, of: ActHead): void {
  app.post(of.path.replace('{id}', ':id'), (request, reply) =>
    answerAct(context, of, [request, reply]),
  );
}

const selectSchema = z.strictObject({
  filter: z.record(z.string(), z.unknown()).default({}),
  expect: z.unknown().optional(),
});
const FILTER = 'filter.';

/** The filter of a request: a form has it in fields named `filter.…`, beside `expect`. */
function selectOf({ select, expect, ...rest }: Given) {
  const fields = Object.entries(rest);
  const isFilter = ([name]: (typeof fields)[number]) => name.startsWith(FILTER);
  const filter = fields.filter(isFilter).map(([name, value]) => [name.slice(FILTER.length), value]);
  const read = selectSchema.safeParse(select ?? { filter: Object.fromEntries(filter), expect });
  if (!read.success) throw invalid('select: must be an object with filter and expect');
  const given = Object.fromEntries(fields.filter((field) => !isFilter(field)));
  return { select: read.data, given };
}

/** Refused things that the outcome of an act on many names. */
const NAMED_MAX = 10;

/** Outcome of an act on many things, in one line; `names` are those that people know them by. */
function manyText(
  of: ActHead,
  value: unknown,
  names: ReadonlyMap<string, string> = new Map(),
): string {
  const { many, several, args } = of;
  const how = several ?? many;
  const { did, isUnderWay = () => false } = how ?? { did: undefined };
  if (many?.isOneAnswer === true || did === undefined) return (many?.answer ?? of).done(value, {});
  const [thing = ''] = args;
  const { answers } = answersSchema.parse(value);
  const failed = answers.flatMap((one) => (one.ok ? [] : [one]));
  const sent = answers.filter((one) => one.ok && isUnderWay(one)).length;
  const count = answers.length - failed.length;
  const some = sent < count ? `, ${sent} of them being sent` : ', being sent';
  const done = `${count} ${did}${sent === 0 ? '' : some}`;
  if (failed.length === 0) return done;
  const named = failed.slice(0, NAMED_MAX).map((one) => {
    const name = String(one[thing]);
    return `${names.get(name) ?? name.replace(/^id:/, '')}: ${one.message}`;
  });
  const more = failed.length > NAMED_MAX ? [`and ${failed.length - NAMED_MAX} more`] : [];
  return `${done}; ${failed.length} not: ${[...named, ...more].join('; ')}`;
}

/** Form that takes back all that was done to each of many things. */
function undoOfMany(of: ActHead, value: unknown) {
  const [thing = ''] = of.args;
  const { answers = [] } = answersSchema.safeParse(value).data ?? {};
  const undos = answers.flatMap(({ ok, [thing]: named, ...answered }) =>
    ok ? [of.undo(answered, { [thing]: named })] : [],
  );
  const [first] = undos;
  if (!first?.act.several) return undefined;
  const things = JSON.stringify(undos.flatMap((one) => (one ? [one.given] : [])));
  const button = undos.length === 1 ? first.act.button : `${first.act.button} all`;
  return { path: `/acts/${first.act.name}/several`, button, fields: { things } };
}

const severalSchema = z.object({
  things: z.preprocess((text) => tryParseJson(String(text)), z.array(z.looseObject({}))),
});
const labelSchema = z.string().max(100).optional();

/** Does an act to each of several things that a form of a page names. */
function mountSeveral(app: FastifyInstance, context: PageContext): void {
  app.post('/acts/:name/several', (request, reply) => {
    const of = actNamed(ACTS, z.object({ name: z.string() }).parse(request.params).name);
    const labelled = severalSchema.parse(request.body).things;
    const things = labelled.map(({ label: _, ...thing }) => thing);
    const [thing = ''] = of.args;
    const names = labelled.flatMap(({ label, [thing]: named }): [string, string][] => {
      const name = labelSchema.parse(label);
      return name === undefined ? [] : [[String(named), name]];
    });
    const { back = pageOf(of, {}), ...stated } = bodyOf(of, { body: request.body, params: {} });
    const { things: __, ...given } = stated.given;
    const asked = { act: of.name, given, reason: stated.reason, dryRun: false, things };
    const noticeOf = (value: unknown) => ({
      text: `${manyText(of, value, new Map(names))}.`,
      undo: undoOfMany(of, value),
      back,
    });
    return answer(context, [request, reply], asked, [answerForm(of, asked), noticeOf]);
  });
}

/** Address that acts share, each of which is done to all that fit a filter. */
function mountMany(app: FastifyInstance, context: PageContext, [path, acts]: SharedAddress) {
  app.post(path, (request, reply) => {
    const { action, ...body } = Object(request.body ?? {});
    const of = acts.find((one) => actionOf(one) === action);
    if (!of) throw invalid(`action: must be one of ${acts.map(actionOf).join(', ')}`);
    const { back, given: stated, ...wanted } = bodyOf(of, { body, params: {} });
    const { given, select } = selectOf(stated);
    const asked = { act: of.name, ...wanted, given, select };
    const noticeOf = (value: unknown) => ({
      text: `${manyText(of, value)}.`,
      undo: undoOfMany(of, value),
      back: back ?? pageOf(of, {}),
    });
    return answer(context, [request, reply], asked, [answerForm(of, asked), noticeOf]);
  });
}

async function previewFor({ deps }: PageContext, request: FastifyRequest, asked: Request) {
  const by = createActing(deps).askerOf(request);
  return previewSchema.parse(await askFor(deps, { ask: 'perform', by, request: asked }));
}

/** Page of one act: what it would do, and the form that does it. */
async function showAct(context: PageContext, request: FastifyRequest, reply: FastifyReply) {
  const { name } = z.object({ name: z.string() }).parse(request.params);
  const of = actNamed(ACTS, name);
  const { back, ...given } = Object.fromEntries(parametersOf(request));
  const { role } = signedIn(request);
  const needed = Object.entries(of.input.shape).filter(([, schema]) => !isOptional(schema));
  const isWhole = needed.every(([member]) => member in given);
  const { lines, seen } =
    mayDo(role, of.role) && isWhole
      ? await previewFor(context, request, { act: name, given, reason: '', dryRun: true })
      : { lines: [] };
  const form = actForm(of, { role, given: { ...given, ...seen }, lines, back });
  const head = { title: of.button, tab: tabOf(of), cli: commandOf(of, given) };
  return context.show(request, reply, head, html`<h1>${of.button}</h1>${form}`);
}

export function mountActs(app: FastifyInstance, context: PageContext): void {
  for (const of of ACTS) mountAct(app, context, of);
  for (const shared of sharedAddresses(ACTS)) mountMany(app, context, shared);
  mountSeveral(app, context);
  app.get('/acts/:name', (request, reply) => showAct(context, request, reply));
}
