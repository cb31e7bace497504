/** Routes for reports, which are made in processes of their own, with their files. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Clock } from '../../lib/clock.ts';
import { SelvedgeError, UsageError } from '../../lib/errors.ts';
import { tryParseJson } from '../../lib/json.ts';
import { localeOfReader, shellWord } from '../../lib/strings.ts';
import { schedules } from '../../report/lists.ts';
import { bindParameters, type ParameterValues } from '../../report/parameters.ts';
import { findReport, type Report } from '../../report/report-file.ts';
import type { Made } from '../../report/schedules/make-process.ts';
import { readOffers } from '../../report/words/offers.ts';
import type { Refusal } from '../../surface/problem.ts';
import { RefusedHere, type ReportSettings, signedIn } from '../context.ts';
import { type MadeReport, PARAMETER, reportPage } from '../pages/reports.ts';
import {
  type ConsoleFormat,
  createReportRuns,
  pageContent,
  type ReportRuns,
} from '../reports/runs.ts';
import { csvQuery } from '../show.ts';
import { readingFor } from '../surface/lists.ts';
import { type PageContext, parametersOf } from './page-context.ts';

// Reads a report for its page, and the values of its parameters.

/** Finds a report; its `file` has no folder, so that messages hide the host's paths. */
function namedReport({ directory }: ReportSettings, name: string): Report {
  return { ...findReport(directory, name), file: `${name}.sql` };
}

/**
 * Values of the report's parameters; empty ones count as not given. @throws RefusedHere with status
 * 400, which names what is missing or wrong
 */
function valuesOf(
  report: Report,
  given: Readonly<Record<string, string>>,
  clock: Clock,
  timeZone: string,
): ParameterValues {
  const filled = Object.entries(given).filter(([, text]) => text.trim() !== '');
  try {
    return bindParameters(report, Object.fromEntries(filled), clock, () => timeZone);
  } catch (thrown) {
    if (!(thrown instanceof UsageError)) throw thrown;
    const { code, message } = thrown;
    const [missing] = missingOf(report, given);
    const hint =
      missing === undefined ? thrown.hint : `${missing}: ${report.params[missing]?.about ?? ''}`;
    throw new RefusedHere({ status: 400, code, message, hint });
  }
}

/** Names of the parameters that still need a value. */
function missingOf({ params }: Report, given: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(params).flatMap(([name, { default: preset }]) =>
    preset === undefined && (given[name] ?? '').trim() === '' ? [name] : [],
  );
}

/** Most rows of a report on a page; FILE_ROWS: in a file. */
const PAGE_ROWS = 1_000;
const FILE_ROWS = 10_000;
const TIME_MS_MAX = 30_000;

const reportParams = z.object({ id: z.string().min(1).max(100) });

interface Asked {
  readonly report: Report;
  /** Values that the person gave, by the parameters' names. */
  readonly given: Readonly<Record<string, string>>;
}

type Runs = PageContext & { readonly runs: ReportRuns };

/**
 * Values of the report's parameters in the query. A prefix sets them apart, so that a parameter may
 * have the name of another query parameter.
 */
function givenIn(query: URLSearchParams): Record<string, string> {
  return Object.fromEntries(
    [...query].flatMap(([name, value]) =>
      name.startsWith(PARAMETER) ? [[name.slice(PARAMETER.length), value]] : [],
    ),
  );
}

/** Makes a report, masked unless the session may see all; ends when the browser leaves. */
async function make(
  { deps, zoneOf, runs }: Runs,
  request: FastifyRequest,
  reply: FastifyReply,
  { report, given }: Asked,
  format: ConsoleFormat,
): Promise<Made & Pick<MadeReport, 'manner' | 'values'>> {
  const { settings, clock } = deps;
  const { locale: wanted } = csvQuery.parse(request.query);
  // A page is in one language with the rest of the console; a file is for the spreadsheet in the
  // reader's language.
  const locale = format === 'page' ? (settings.reports.locale ?? localeOfReader()) : wanted;
  const manner = { locale, timeZone: await zoneOf() };
  const values = valuesOf(report, given, clock, manner.timeZone);
  const order = {
    report,
    manner,
    values,
    timeMaxMs: TIME_MS_MAX,
    rowsMax: format === 'page' ? PAGE_ROWS : FILE_ROWS,
    store: settings.reports.store,
  };
  const gone = new AbortController();
  reply.raw.on('close', () => gone.abort());
  const isMasked = !signedIn(request).seesAddresses;
  const made = await runs.make({ order, format, target: null, isMasked }, gone.signal);
  return { ...made, manner, values };
}

const FILE_TYPES = {
  csv: 'text/csv; charset=utf-8',
  html: 'text/html; charset=utf-8',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
} as const;

async function sendFile(
  context: Runs,
  request: FastifyRequest,
  reply: FastifyReply,
  asked: Asked,
  format: keyof typeof FILE_TYPES,
): Promise<FastifyReply> {
  const { content } = await make(context, request, reply, asked, format);
  return reply
    .type(FILE_TYPES[format])
    .header('content-disposition', `attachment; filename="${asked.report.name}.${format}"`)
    .send(content);
}

/** Sends a report's rows as the JSON in which they come, without parsing it. */
async function sendRows(
  context: Runs,
  request: FastifyRequest,
  reply: FastifyReply,
  asked: Asked,
): Promise<FastifyReply> {
  const { content, about, notes } = await make(context, request, reply, asked, 'json');
  const { name, title } = asked.report;
  const head = JSON.stringify({ name, title, about, notes });
  return reply
    .type('application/json; charset=utf-8')
    .send(`${head.slice(0, -1)},"rows":${content.toString().trimEnd()}}`);
}

interface Shown {
  readonly made?: MadeReport;
  readonly problem?: string;
}

function inWords({ message, hint }: Pick<Refusal, 'message' | 'hint'>): string {
  return [message, hint].filter((part) => part).join(' · ');
}

function problemOf(thrown: unknown): string {
  if (thrown instanceof RefusedHere) return inWords(thrown.refusal);
  if (thrown instanceof SelvedgeError) return inWords(thrown);
  throw thrown;
}

/** Report for its page; nothing while a parameter is missing, an error in words. */
async function shownOf(
  context: Runs,
  request: FastifyRequest,
  reply: FastifyReply,
  asked: Asked,
): Promise<Shown> {
  const isNew = Object.keys(asked.given).length === 0;
  if (isNew && missingOf(asked.report, asked.given).length > 0) return {};
  try {
    const { content, about, manner, values } = await make(context, request, reply, asked, 'page');
    const { table, given } = pageContent.parse(tryParseJson(content.toString()));
    return { made: { table, given, manner, values, about } };
  } catch (thrown) {
    return { problem: problemOf(thrown) };
  }
}

async function showReport(context: Runs, request: FastifyRequest, reply: FastifyReply) {
  const { deps, readerOf, show } = context;
  const { id: param } = reportParams.parse(request.params);
  const [, name = param, twin] = /^(.*)\.(json|csv|xlsx|html)$/.exec(param) ?? [];
  const query = parametersOf(request);
  const asked = { report: namedReport(deps.settings.reports, name), given: givenIn(query) };
  if (twin === 'json') return sendRows(context, request, reply, asked);
  if (twin === 'csv' || twin === 'xlsx' || twin === 'html') {
    return sendFile(context, request, reply, asked, twin);
  }
  const shown = await shownOf(context, request, reply, asked);
  const planned = await schedules.read(readingFor(context, request), { report: name });
  const { made, problem } = shown;
  const reader = await readerOf(request);
  const offers = await readOffers(deps.db, asked.report, signedIn(request).seesAddresses);
  const view = { ...asked, made, problem, planned: planned.rows, offers, query, reader };
  const options = Object.entries(asked.given).map(([key, value]) => shellWord(`${key}=${value}`));
  const given = options.map((one) => `--param ${one}`);
  const cli = [`selvedge report run ${name}`, ...given].join(' ');
  const head = { title: asked.report.title, tab: '/reports', cli } as const;
  return show(request, reply.code(problem === undefined ? 200 : 409), head, reportPage(view));
}

export function installReports(app: FastifyInstance, page: PageContext): void {
  const runs = createReportRuns();
  app.addHook('preClose', async () => runs.end());
  const context = { ...page, runs };
  app.get('/reports/:id', (request, reply) => showReport(context, request, reply));
}
