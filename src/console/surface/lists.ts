/** Serves declared lists at the console: a page, and its twins for programs. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { nameOf } from '../../decisions/review/note.ts';
import { deliveryIds } from '../../decisions/review/parts.ts';
import { type Html, html } from '../../lib/html.ts';
import { plural } from '../../lib/strings.ts';
import { orderNamed } from '../../mirror/find/order.ts';
import { csvTable, toWire } from '../../surface/forms.ts';
import { canonical, type Given } from '../../surface/given.ts';
import { type List, type ListPage, ROWS_MAX } from '../../surface/lists.ts';
import type { Reading } from '../../surface/reading.ts';
import { requireRole } from '../../surface/roles.ts';
import { commandOf } from '../command-line.ts';
import { askFor, signedIn } from '../context.ts';
import { orderHead, partHead } from '../pages/delivery-parts.ts';
import { partsNav } from '../pages/parts.ts';
import {
  eachMasked,
  maskedFor,
  maskedForOrders,
  type PageContext,
  parametersOf,
} from '../routes/page-context.ts';
import { inForceOf } from '../rules.ts';
import { sendCsv } from '../show.ts';
import { addressOf, listPath, tabOf } from './addresses.ts';
import { type Cells, filtersOf, pagingOf, type Reader, sentence, tableFor } from './html.ts';
import { hasPageByHand, LISTS } from './registry.ts';

const idParams = z.object({ id: z.string().min(1).max(300).optional() });

const BELOW_ROWS = 100;

/** Surroundings of a list that this session reads. */
export function readingFor(context: PageContext, request: FastifyRequest): Reading {
  const { deps, zoneOf, rulesShown, figures, suggestions } = context;
  const { db, snapshot, clock, settings } = deps;
  const { pulled, notAtLevel, machine, reports } = settings;
  return {
    db,
    snapshot,
    now: clock.now(),
    pulled,
    notAtLevel,
    dataDir: machine.dataDir || undefined,
    rowsMax: ROWS_MAX,
    reports,
    rules: {
      inForce: async () => (await inForceOf(rulesShown))?.ruleSet,
      figures: () => figures.now(),
      suggest: (wish) => suggestions.of(wish),
    },
    timeZone: zoneOf,
    rates: settings.rates,
    sessionIdleMs: settings.sessionIdleMs,
    host: {
      written: machine.written,
      backups: machine,
      ask: (what) => askFor(deps, { ask: what }),
    },
    me: nameOf(signedIn(request).name),
    seesAddresses: signedIn(request).seesAddresses,
    masked: (orderIds, value, others) => maskedForOrders(request, db, orderIds, value, others),
    maskedEach: (rows, orderIdOf) => eachMasked(request, db, rows, orderIdOf),
  };
}

/** Query of a list in its address, and the place in it. */
export function givenIn(of: List, request: FastifyRequest): Given {
  const { locale: _locale, ...asked } = Object.fromEntries(parametersOf(request));
  const given = canonical(of.query, asked);
  const { id } = idParams.parse(request.params);
  const [first] = of.args;
  return id === undefined || first === undefined ? given : { ...given, [first]: id };
}

/** Page that a request asks for, with what its filter and its table need. */
export interface ListView {
  readonly page: ListPage;
  readonly given: Given;
  readonly from: Reading;
  readonly reader: Reader;
  /** Values for the pickers of members that have them. */
  readonly choices: Readonly<Record<string, readonly string[]>>;
}

export async function readView(
  context: PageContext,
  request: FastifyRequest,
  of: List,
  given = givenIn(of, request),
  from = readingFor(context, request),
): Promise<ListView> {
  return {
    page: maskedFor(request, await of.read(from, given)),
    given,
    from,
    reader: await context.readerOf(request),
    choices: await of.choices(from),
  };
}

/** Filter, table and paging of a list, for a page of its own as for one made by hand. */
export function listPart(of: List, view: ListView, cells: Cells = {}): Html {
  const { page, given, reader } = view;
  const shown = { given, cells };
  const table = tableFor(of, page.rows, reader, shown);
  return html`${filtersOf(of, view)}${table}${pagingOf(of, page, given)}`;
}

/** Thing that the address of the list names; none: it is not about one thing. */
function namedIn({ path, args: [first = ''] }: List, given: Given): readonly string[] {
  return path.includes('{id}') ? [String(given[first])] : [];
}

/** Heading of a list, with links to the thing that it is about. */
async function headOf(of: List, { from, given, reader }: ListView): Promise<Html> {
  const [named] = namedIn(of, given);
  if (named === undefined || of.thing === undefined) {
    return html`<h1>${of.title}</h1>${partsNav(of.path)}`;
  }
  if (of.thing === 'delivery') {
    return partHead(await deliveryIds(from.db, named), of.path, of.title);
  }
  if (of.thing === 'order') {
    const order = await orderNamed(from.db, named);
    return orderHead(await from.masked([order.orderId], order), reader);
  }
  return html`<h1>${of.title} of ${of.thing} ${named}</h1>
<p><a href="${addressOf(of.thing, named)}">All of it</a></p>`;
}

/** First rows of the lists that stand below another one, or below a page about one thing. */
export async function belowParts(
  { from, reader }: Pick<ListView, 'from' | 'reader'>,
  below: readonly List[],
  given: Given = {},
): Promise<readonly Html[]> {
  const parts = below.map(async (of) => {
    const { rows, next } = await of.read(from, { ...given, limit: BELOW_ROWS });
    const table = tableFor(of, await from.masked([], rows), reader, { given });
    return html`<section><h2>${of.title}</h2><p>${sentence(of.about)}
<a href="${listPath(of, given)}">${next === null ? 'On its own page' : 'All'}</a></p>
${table}</section>`;
  });
  return Promise.all(parts);
}

/** Refuses readers whose role may not read a list. */
export function requireReading({ name, role }: List, request: FastifyRequest): void {
  if (role !== undefined) requireRole(signedIn(request).role, name, role);
}

async function sendTwin(
  context: PageContext,
  request: FastifyRequest,
  reply: FastifyReply,
  of: List,
  twin: 'json' | 'csv',
): Promise<FastifyReply> {
  requireReading(of, request);
  const from = readingFor(context, request);
  const given = givenIn(of, request);
  if (twin === 'csv') {
    const { limit = ROWS_MAX } = given;
    const { rows } = maskedFor(request, await of.read(from, { ...given, limit }));
    const file = [...of.name.split('.'), ...namedIn(of, given)].join('-');
    return sendCsv(request, reply, file.replaceAll(/[^\w.-]+/g, '_'), csvTable(of, rows));
  }
  const { rows, ...places } = maskedFor(request, await of.read(from, given));
  const beside = maskedFor(request, await of.readBeside(from, given, rows));
  const wire = rows.map((row) => toWire(of.row, row));
  const more = Object(toWire(of.beside, beside));
  return reply.send({ ...more, [of.rowsAs]: wire, ...places });
}

async function showList(
  context: PageContext,
  request: FastifyRequest,
  reply: FastifyReply,
  of: List,
): Promise<FastifyReply> {
  requireReading(of, request);
  const view = await readView(context, request, of);
  const { page, from } = view;
  const notes = await of.notes(from);
  const head = { title: of.title, tab: tabOf(of), cli: commandOf(of, view.given), notes };
  const below = await belowParts(view, of.below);
  const body = html`${await headOf(of, view)}
<p>${plural(page.rows.length, 'row')} on this page: ${of.about}. ${of.more}</p>
${listPart(of, view)}${below}`;
  return context.show(request, reply, head, body);
}

/** Mounts the twins of each list, and its page unless one is made by hand. */
export function mountLists(app: FastifyInstance, context: PageContext): void {
  for (const of of LISTS) {
    const path = of.path.replace('{id}', ':id');
    for (const twin of ['json', 'csv'] as const) {
      app.get(`${path}.${twin}`, (request, reply) => sendTwin(context, request, reply, of, twin));
    }
    if (!hasPageByHand(of)) {
      app.get(path, (request, reply) => showList(context, request, reply, of));
    }
  }
}
