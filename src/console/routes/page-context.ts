/** Context that all pages need beside their own rows: frame, time zone, rules and person. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { knownNames, nameOf } from '../../decisions/review/note.ts';
import type { Html } from '../../lib/html.ts';
import { tryParseJson } from '../../lib/json.ts';
import { absenceNotes, readAnswers } from '../../store/answering.ts';
import { inKeys } from '../../store/bulk.ts';
import { pauseNote, readPauses } from '../../store/pauses.ts';
import { type Db, storeOptions } from '../../store/store.ts';
import { isoTime } from '../../surface/forms.ts';
import { type ConsoleDeps, signedIn } from '../context.ts';
import { createFigureCounter, type FigureCounter } from '../figures.ts';
import { maskPrivate } from '../mask.ts';
import type { CardContext } from '../pages/card.ts';
import { framed, type Tab } from '../pages/frame.ts';
import type { PauseReader, Reader } from '../pages/parts.ts';
import { createLiveCounts, type LiveCounts } from '../read/live.ts';
import type { ReadRules } from '../rules.ts';
import { localeOf, sendPage } from '../show.ts';
import { createSuggestions, type Suggestions } from '../suggestions.ts';

// Reads customers' private texts, so that they can be masked where other texts quote them.

/** Customers' names, comments and addresses of orders, by order id. */
async function privateOfOrders(
  db: Db,
  orderIds: readonly number[],
): Promise<ReadonlyMap<number, object>> {
  const rows = await db
    .selectFrom('sales_order')
    .select(['order_id', 'company', 'comment', 'shipping_address'])
    .where(inKeys('order_id', [...new Set(orderIds)]))
    .execute();
  return new Map(
    rows.map(({ order_id: orderId, company, comment, shipping_address: address }) => [
      orderId,
      { company, comment, shippingAddress: tryParseJson(address) },
    ]),
  );
}

// Reads the reasons that a person gave last for decisions, to choose from.

const REASONS = 5;
const LOOKED_AT = 50;

async function lastReasons(db: Db, actor: string): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('audit')
    .select('reason')
    .where('actor', '=', actor)
    .where('action', 'in', ['delivery.accept', 'delivery.hold', 'delivery.release'])
    .where('reason', '!=', '')
    .orderBy('id', 'desc')
    .limit(LOOKED_AT)
    .execute();
  return [...new Set(rows.map(({ reason }) => reason))].slice(0, REASONS);
}

/** Time without an answer of the daemon's loop, which is asked every five seconds. */
const SILENT_MS = 11_000;

export const idParams = z.object({ id: z.string().min(1).max(100) });

/** Query parameters of a page without empty ones. */
export function parametersOf(request: FastifyRequest): URLSearchParams {
  const at = request.url.indexOf('?');
  const query = new URLSearchParams(at < 0 ? '' : request.url.slice(at + 1));
  for (const [name, value] of [...query]) if (value === '') query.delete(name);
  return query;
}

/** Masks a value's private texts, unless the session may see them. */
export function maskedFor<T>(request: FastifyRequest, value: T): T {
  return signedIn(request).seesAddresses ? value : maskPrivate(value);
}

/**
 * Masks a value about orders, unless the session may see names and addresses: the orders' private
 * texts, and those of `others`, are masked wherever the value quotes them.
 */
export async function maskedForOrders<T>(
  request: FastifyRequest,
  db: Db,
  orderIds: readonly number[],
  value: T,
  others: readonly unknown[] = [],
): Promise<T> {
  if (signedIn(request).seesAddresses) return value;
  return maskPrivate(value, [...(await privateOfOrders(db, orderIds)).values(), ...others]);
}

/** Masks rows as {@link maskedForOrders} does, each by its own order. */
export async function eachMasked<T>(
  request: FastifyRequest,
  db: Db,
  rows: readonly T[],
  orderIdOf: (row: T) => number,
): Promise<readonly T[]> {
  if (signedIn(request).seesAddresses) return rows;
  const of = await privateOfOrders(db, rows.map(orderIdOf));
  return rows.map((row) => maskPrivate(row, [of.get(orderIdOf(row))]));
}

interface PageHead {
  readonly title: string;
  readonly tab: Tab;
  /** Command line that shows the same as the page. */
  readonly cli: string;
  /** Remarks of the page itself, below those of all pages; each text is shown once. */
  readonly notes?: readonly string[];
}

export interface PageContext {
  readonly deps: ConsoleDeps;
  readonly rulesShown: ReadRules;
  readonly figures: FigureCounter;
  readonly suggestions: Suggestions;
  readonly live: () => Promise<LiveCounts>;
  /** Whether the daemon's loop does not answer, so that nothing can be changed. */
  readonly isSilent: () => boolean;
  readonly zoneOf: () => Promise<string>;
  show(
    request: FastifyRequest,
    reply: FastifyReply,
    head: PageHead,
    body: Html,
  ): Promise<FastifyReply>;
  readerOf(request: FastifyRequest): Promise<Reader>;
  /** Reader with the active pauses, masked as far as the session requires. */
  pauseReaderOf(request: FastifyRequest): Promise<PauseReader>;
  /** Context of a delivery's card; `back` is the address to which its forms return. */
  cardContext(request: FastifyRequest, back: string, next?: string): Promise<CardContext>;
}

export function createPageContext(deps: ConsoleDeps, rulesShown: ReadRules): PageContext {
  const { db, clock, settings } = deps;
  const live = createLiveCounts(db, clock);
  const zoneOf = async () => settings.timeZone ?? (await rulesShown()).timeZone;
  const isSilent = () => clock.monotonic() - deps.daemonSeenAt() > SILENT_MS;
  const warnings = async (): Promise<readonly string[]> => {
    const pauses = await readPauses(db);
    return [...absenceNotes(await readAnswers(db), clock.now()), ...pauses.map(pauseNote)];
  };
  const readerOf = async (request: FastifyRequest): Promise<Reader> => ({
    role: signedIn(request).role,
    now: clock.now(),
    timeZone: await zoneOf(),
    locale: localeOf(request),
  });
  return {
    deps,
    rulesShown,
    figures: createFigureCounter(storeOptions(settings.machine), clock),
    suggestions: createSuggestions(storeOptions(settings.machine), clock),
    live,
    isSilent,
    zoneOf,
    async show(request, reply, { notes = [], ...head }, body) {
      const { held: _, attention: __, waiting, eventAt, ...rest } = await live();
      const marks = { ...rest, eventAt: isoTime(eventAt) };
      const { instance, version } = settings;
      const session = signedIn(request);
      const frame = {
        ...head,
        instance,
        version,
        marks,
        counts: {
          '/': waiting.total,
          '/review': waiting.deliveries,
          '/outbox': waiting.documents,
          '/pulls': waiting.runs,
        },
        warnings: maskedFor(request, [...new Set([...(await warnings()), ...notes])]),
        isBusy: isSilent(),
        session,
        timeZone: await zoneOf(),
        done: deps.notices.take(session.sessionId, request.url),
      };
      return sendPage(reply, framed(frame, body));
    },
    readerOf,
    async pauseReaderOf(request) {
      const pauses = await readPauses(db, settings.machine.dataDir || undefined);
      return { ...(await readerOf(request)), pauses: maskedFor(request, pauses) };
    },
    async cardContext(request, back, next) {
      const { role, name } = signedIn(request);
      const last = await lastReasons(db, name);
      const reasons = [...new Set([...settings.reasons, ...last])];
      const names = await knownNames(db);
      const at = { timeZone: await zoneOf(), now: clock.now(), back, next };
      return { role, ...at, reasons, me: nameOf(name), names };
    },
  };
}
