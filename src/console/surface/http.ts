/**
 * Serves declared acts at the console: an address for forms and programs, and a page with what an
 * act would do. The daemon's loop does it; this thread only reads what was sent.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { html } from '../../lib/html.ts';
import { isJsonObject } from '../../lib/json.ts';
import { type ActHead, previewSchema } from '../../surface/acts.ts';
import { toWire } from '../../surface/forms.ts';
import { type Given, invalid } from '../../surface/given.ts';
import { actNamed } from '../../surface/perform.ts';
import { askFor, signedIn } from '../context.ts';
import { createActing } from '../routes/acts.ts';
import { type PageContext, parametersOf } from '../routes/page-context.ts';
import { isForPeople } from '../show.ts';
import { actPath, pageOf, tabOf } from './addresses.ts';
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
function bodyOf(of: ActHead, { body, params }: FastifyRequest): Body {
  if (!isJsonObject(body ?? {})) throw invalid('the request must be an object');
  const { reason, dryRun, back, ...rest } = { ...Object(body) };
  const { id } = idParams.parse(params);
  const [first] = of.args;
  const isNamed = id !== undefined && first !== undefined;
  return {
    given: isNamed ? { ...rest, [first]: id } : rest,
    reason: textOf(reason, 'reason'),
    dryRun: dryRun === true || dryRun === '1' || dryRun === 'true',
    back: textOf(back, 'back') || undefined,
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

function mountAct(app: FastifyInstance, context: PageContext, of: ActHead): void {
  const { deps } = context;
  const { askerOf } = createActing(deps);
  app.post(of.path.replace('{id}', ':id'), async (request, reply) => {
    const { back, ...wanted } = bodyOf(of, request);
    const asked = { act: of.name, ...wanted };
    const value = await askFor(deps, { ask: 'perform', by: askerOf(request), request: asked });
    if (wanted.dryRun) return reply.send(value);
    if (!isForPeople(request)) return reply.send(toWire(of.output, value));
    const text = `${of.done(value, wanted.given)}.`;
    const undo = undoOf(of, value, wanted.given);
    deps.notices.put(signedIn(request).sessionId, { text, undo });
    return reply
      .code(303)
      .header('location', back ?? pageOf(of, wanted.given))
      .send();
  });
}

/** Page of one act: what it would do, and the form that does it. */
async function showAct(context: PageContext, request: FastifyRequest, reply: FastifyReply) {
  const { name } = z.object({ name: z.string() }).parse(request.params);
  const of = actNamed(ACTS, name);
  const { back, ...given } = Object.fromEntries(parametersOf(request));
  const asked = { act: name, given, reason: '', dryRun: true };
  const { askerOf } = createActing(context.deps);
  const value = await askFor(context.deps, {
    ask: 'perform',
    by: askerOf(request),
    request: asked,
  });
  const { lines, seen } = previewSchema.parse(value);
  const { role } = signedIn(request);
  const form = actForm(of, { role, given: { ...given, ...seen }, lines, back });
  const words = [of.command ?? of.name.replace('.', ' '), ...of.args.map((one) => given[one])];
  const head = { title: of.button, tab: tabOf(of), cli: `selvedge ${words.join(' ')}` };
  return context.show(request, reply, head, html`<h1>${of.button}</h1>${form}`);
}

export function mountActs(app: FastifyInstance, context: PageContext): void {
  for (const of of ACTS) mountAct(app, context, of);
  app.get('/acts/:name', (request, reply) => showAct(context, request, reply));
}
