/** Serves declared lists at the console: a page, and its twins for programs. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type Html, html } from '../../lib/html.ts';
import { plural } from '../../lib/strings.ts';
import { csvTable, toWire } from '../../surface/forms.ts';
import { canonical, type Given } from '../../surface/given.ts';
import { type List, type ListPage, ROWS_MAX } from '../../surface/lists.ts';
import type { Reading } from '../../surface/reading.ts';
import { signedIn } from '../context.ts';
import { partsNav } from '../pages/parts.ts';
import {
  maskedFor,
  maskedForOrders,
  type PageContext,
  parametersOf,
} from '../routes/page-context.ts';
import { sendCsv } from '../show.ts';
import { tabOf } from './addresses.ts';
import { type Cells, filtersOf, pagingOf, type Reader, tableFor } from './html.ts';
import { hasPageByHand, LISTS } from './registry.ts';

const idParams = z.object({ id: z.string().min(1).max(300).optional() });

/** Surroundings of a list that this session reads. */
export function readingFor({ deps }: PageContext, request: FastifyRequest): Reading {
  const { db, clock, settings } = deps;
  const { pulled, notAtLevel, machine } = settings;
  return {
    db,
    now: clock.now(),
    pulled,
    notAtLevel,
    dataDir: machine.dataDir || undefined,
    rowsMax: ROWS_MAX,
    seesAddresses: signedIn(request).seesAddresses,
    masked: (orderIds, value, others) => maskedForOrders(request, db, orderIds, value, others),
  };
}

/** What the address says of the list: its query, and the place in it. */
function givenIn(of: List, request: FastifyRequest): Given {
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
): Promise<ListView> {
  const from = readingFor(context, request);
  const given = givenIn(of, request);
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

async function sendTwin(
  context: PageContext,
  request: FastifyRequest,
  reply: FastifyReply,
  of: List,
  twin: 'json' | 'csv',
): Promise<FastifyReply> {
  const from = readingFor(context, request);
  const given = givenIn(of, request);
  if (twin === 'csv') {
    const { limit = ROWS_MAX } = given;
    const { rows } = maskedFor(request, await of.read(from, { ...given, limit }));
    return sendCsv(request, reply, of.name.replace('.', '-'), csvTable(of, rows));
  }
  const { rows, ...places } = maskedFor(request, await of.read(from, given));
  const beside = maskedFor(request, await of.readBeside(from, given));
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
  const view = await readView(context, request, of);
  const { page, from } = view;
  const notes = await of.notes(from);
  const command = of.command ?? of.name.replace('.', ' ');
  const head = { title: of.title, tab: tabOf(of), cli: `selvedge ${command}` };
  const body = html`<h1>${of.title}</h1>${partsNav(of.path)}
<p>${plural(page.rows.length, 'row')} on this page: ${of.about}. ${of.more}</p>
${notes.map((note) => html`<p class="warning">${note}</p>`)}${listPart(of, view)}`;
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
