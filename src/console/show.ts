/** Sending pages and tables: as HTML for people, JSON and CSV for programs. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type CsvCell, csvLine, csvStyleOf, RFC_4180 } from '../lib/csv.ts';
import { type Html, renderHtml } from '../lib/html.ts';

/** Whether a person with a browser asks; a program names a twin, sends JSON or has a token. */
export function isForPeople({ headers, url }: FastifyRequest): boolean {
  if (/^[^?]*\.(?:json|csv)(?:\?|$)/.test(url)) return false;
  if (headers.authorization !== undefined) return false;
  return !(headers['content-type'] ?? '').startsWith('application/json');
}

export function sendPage(reply: FastifyReply, page: Html): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(renderHtml(page));
}

/** A list as a spreadsheet takes it. */
export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly CsvCell[])[];
}

/** Pages name the place of their reader in their links to CSV; programs get RFC 4180. */
export const csvQuery = z.object({
  locale: z
    .string()
    .max(35)
    .refine((locale) => csvStyleOf(locale) !== undefined, 'must be a language tag such as da-DK')
    .optional(),
});

/** The language that a browser asks for first; empty: none that is known. */
export function localeOf({ headers }: FastifyRequest): string {
  const [first = ''] = (headers['accept-language'] ?? '').split(/[,;]/);
  const locale = first.trim();
  return csvStyleOf(locale) === undefined ? '' : locale;
}

export function sendCsv(
  request: FastifyRequest,
  reply: FastifyReply,
  name: string,
  { columns, rows }: Table,
): FastifyReply {
  const { locale } = csvQuery.parse(request.query);
  const style = (locale === undefined ? undefined : csvStyleOf(locale)) ?? RFC_4180;
  const lines = [columns, ...rows].map((cells) => `${csvLine(cells, style)}\r\n`);
  return reply
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${name}.csv"`)
    .send(`${style.mark}${lines.join('')}`);
}

/** Epoch milliseconds as programs read them: ISO 8601, UTC. */
export function isoTime(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

const TIME_MEMBER = /^(?:at|since)$|(?:At|Since)$/;

/** Members that are points in time as {@link isoTime} writes them, in all of a value. */
export function isoTimes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(isoTimes);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      typeof member === 'number' && TIME_MEMBER.test(name) ? isoTime(member) : isoTimes(member),
    ]),
  );
}
