/** Routes of proposals: the page, which waits for them, and a proposal to try. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { RefusedError } from '../../lib/errors.ts';
import { suggestions, suggestQuery, wished } from '../../suggest/lists.ts';
import { namesLocalTime, readGiven } from '../../surface/given.ts';
import type { Reading } from '../../surface/reading.ts';
import { besideSchema, type Suggestion, type SuggestOptions } from '../../surface/suggestion.ts';
import { commandOf } from '../command-line.ts';
import {
  keyOf,
  linkedCells,
  suggestPage,
  suggestProblemPage,
  suggestWaitPage,
} from '../pages/suggest.ts';
import type { TrialForm } from '../pages/trial.ts';
import { filtersOf, pagingOf, tableFor } from '../surface/html.ts';
import { givenIn, readingFor, readView, requireReading } from '../surface/lists.ts';
import { maskedFor, type PageContext, parametersOf } from './page-context.ts';

const DAY_MS = 86_400_000;

interface Asked {
  readonly since?: string | undefined;
  readonly owner?: string | undefined;
}

/** Proposals that a page asks for, after a moment; a mistake in the request is thrown. */
async function soonFor({ suggestions: made, deps, zoneOf }: PageContext, asked: Asked) {
  const now = deps.clock.now();
  const timeZone = namesLocalTime({ ...asked }) ? await zoneOf() : undefined;
  const wish: SuggestOptions = wished(readGiven(suggestQuery, { ...asked }, now, timeZone), now);
  return made.soon(wish);
}

/** Surroundings of the list in which these proposals are known already. */
function knowing(from: Reading, suggestion: Suggestion): Reading {
  return { ...from, rules: { ...from.rules, suggest: async () => suggestion } };
}

const askedQuery = z.object({
  since: z.string().max(40).optional(),
  owner: z.string().max(100).optional(),
});
const rowsSchema = z.array(suggestions.row);

export function askedOf(request: FastifyRequest): URLSearchParams {
  const given = Object.fromEntries(parametersOf(request));
  const { since = '', owner = '' } = askedQuery.parse(given);
  const all = Object.entries({ since, owner });
  return new URLSearchParams(all.filter(([, value]) => value !== ''));
}

/** Address of the page with the period of this request. */
export function proposalsAddress(asked: URLSearchParams): string {
  return asked.size === 0 ? suggestions.path : `${suggestions.path}?${asked}`;
}

async function showProposals(context: PageContext, request: FastifyRequest, reply: FastifyReply) {
  requireReading(suggestions, request);
  const given = givenIn(suggestions, request);
  const asked = askedOf(request);
  const { suggestion, problem } = await soonFor(context, Object.fromEntries(asked));
  const head = {
    title: 'Proposals',
    tab: '/rules',
    cli: commandOf(suggestions, given),
  } as const;
  const reader = await context.readerOf(request);
  const from = readingFor(context, request);
  const choices = await suggestions.choices(from);
  const filters = filtersOf(suggestions, { given, choices, reader });
  if (!suggestion) {
    const body =
      problem === undefined
        ? suggestWaitPage(filters, proposalsAddress(asked))
        : suggestProblemPage(filters, problem);
    return context.show(request, reply, head, body);
  }
  const view = await readView(context, request, suggestions, given, knowing(from, suggestion));
  const { page } = view;
  const rows = rowsSchema.parse(page.rows);
  const beside = await suggestions.readBeside(view.from, given, page.rows);
  const shown = {
    rows,
    beside: besideSchema.parse(maskedFor(request, beside)),
    filters,
    table: tableFor(suggestions, page.rows, reader, { given, cells: linkedCells(rows) }),
    paging: pagingOf(suggestions, page, given),
    asked,
  };
  return context.show(request, reply, head, suggestPage(shown, reader));
}

/** The proposal that a trial is to begin with; undefined: they are not made yet. */
export async function proposalToTry(
  context: PageContext,
  request: FastifyRequest,
  key: string,
): Promise<Pick<TrialForm, 'text' | 'shadowAsLive' | 'days' | 'proposal'> | undefined> {
  const asked = askedOf(request);
  const { suggestion } = await soonFor(context, Object.fromEntries(asked));
  if (!suggestion) return undefined;
  const { proposals, since, until } = suggestion;
  const found = maskedFor(request, proposals).find((one) => keyOf(one) === key);
  if (!found) {
    const hint = 'the proposals of now are at /rules/suggest';
    throw new RefusedError('rules.proposal.unknown', 'this is not proposed any more', { hint });
  }
  const { kind, title, text } = found;
  return {
    text,
    // An exception stands in a rule that is live already.
    shadowAsLive: kind !== 'unless',
    days: Math.max(1, Math.round((until - since) / DAY_MS)),
    proposal: { title, address: `${proposalsAddress(asked)}#p-${key}` },
  };
}

export function installSuggest(app: FastifyInstance, context: PageContext): void {
  app.get(suggestions.path, (request, reply) => showProposals(context, request, reply));
}
