/** Parts that every page needs beside its own rows: the frame, the zone, the rules, the person. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Html } from '../../lib/html.ts';
import { readPauses } from '../../store/pauses.ts';
import { type ConsoleDeps, signedIn } from '../context.ts';
import { doneText } from '../done.ts';
import { maskPrivate } from '../mask.ts';
import type { CardContext } from '../pages/card.ts';
import { framed, type Tab } from '../pages/frame.ts';
import { createLiveCounts, type LiveCounts } from '../read/live.ts';
import { lastReasons } from '../read/reasons.ts';
import type { ReadRules } from '../rules.ts';
import { isoTime, sendPage } from '../show.ts';

const SILENT_MS = 30_000;

export const idParams = z.object({ id: z.string().min(1).max(100) });

/** The filter of a page's address, without what was just done. */
export function parametersOf(request: FastifyRequest): URLSearchParams {
  const at = request.url.indexOf('?');
  const query = new URLSearchParams(at < 0 ? '' : request.url.slice(at + 1));
  for (const [name, value] of [...query]) if (value === '' || name === 'done') query.delete(name);
  return query;
}

/** Where a session may not see people, what it reads is without them. */
export function maskedFor<T>(request: FastifyRequest, value: T): T {
  return signedIn(request).seesAddresses ? value : maskPrivate(value);
}

interface PageHead {
  readonly title: string;
  readonly tab: Tab;
  /** Command that shows the same. */
  readonly cli: string;
}

export interface PageContext {
  readonly deps: ConsoleDeps;
  readonly rulesShown: ReadRules;
  readonly live: () => Promise<LiveCounts>;
  readonly zoneOf: () => Promise<string>;
  show(
    request: FastifyRequest,
    reply: FastifyReply,
    head: PageHead,
    body: Html,
  ): Promise<FastifyReply>;
  /** `back` is where the forms of a card lead. */
  cardContext(request: FastifyRequest, back: string): Promise<CardContext>;
}

export function createPageContext(deps: ConsoleDeps, rulesShown: ReadRules): PageContext {
  const { db, clock, settings } = deps;
  const live = createLiveCounts(db, clock);
  const zoneOf = async () => settings.timeZone ?? (await rulesShown()).timeZone;
  const warnings = async (): Promise<readonly string[]> => {
    const pauses = await readPauses(db);
    const isSilent = clock.now() - deps.daemonSeenAt() > SILENT_MS;
    return [
      ...pauses.map(
        ({ target, name, actor, reason }) =>
          `PAUSED: ${[target, name].join(' ').trim()}, by ${actor}: ${reason}`,
      ),
      ...(isSilent ? ['The daemon does not answer: nothing can be changed now.'] : []),
    ];
  };
  return {
    deps,
    rulesShown,
    live,
    zoneOf,
    async show(request, reply, head, body) {
      const { held, attention, eventAt, ...rest } = await live();
      const marks = { ...rest, eventAt: isoTime(eventAt) };
      const { instance, version } = settings;
      const session = signedIn(request);
      const frame = {
        ...head,
        instance,
        version,
        marks,
        counts: { '/review': held, '/outbox': attention },
        warnings: session.seesAddresses ? await warnings() : maskPrivate(await warnings()),
        session,
        timeZone: await zoneOf(),
        done: doneText(request),
      };
      return sendPage(reply, framed(frame, body));
    },
    async cardContext(request, back) {
      const { role, name } = signedIn(request);
      const reasons = await lastReasons(db, name);
      return { role, timeZone: await zoneOf(), now: clock.now(), back, reasons };
    },
  };
}
