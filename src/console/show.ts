/** Sending pages and tables: as HTML for people, JSON and CSV for programs. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type CsvCell, csvLine, csvMannerOf } from '../lib/csv.ts';
import { type Html, renderHtml } from '../lib/html.ts';

const FORM = /^(?:application\/x-www-form-urlencoded|multipart\/form-data)\b/;

/** Whether a person with a browser asks; a program names a twin, sends no form or has a token. */
export function isForPeople({ headers, url, method }: FastifyRequest): boolean {
  if (/^[^?]*\.(?:json|csv)(?:\?|$)/.test(url)) return false;
  if (headers.authorization !== undefined) return false;
  return method !== 'POST' || FORM.test(headers['content-type'] ?? '');
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
    .refine((locale) => csvMannerOf(locale) !== undefined, 'must be a language tag such as da-DK')
    .optional(),
});

/** The language that a browser asks for first; empty: none that is known. */
export function localeOf({ headers }: FastifyRequest): string {
  const [first = ''] = (headers['accept-language'] ?? '').split(/[,;]/);
  const locale = first.trim();
  return csvMannerOf(locale) === undefined ? '' : locale;
}

/** Spreadsheets take UTF-8 without it for something else. */
const UTF_8_MARK = '\uFEFF';

export function sendCsv(
  request: FastifyRequest,
  reply: FastifyReply,
  name: string,
  { columns, rows }: Table,
): FastifyReply {
  const { locale } = csvQuery.parse(request.query);
  const manner = locale === undefined ? undefined : csvMannerOf(locale);
  const lines = [columns, ...rows].map((cells) => `${csvLine(cells, manner)}\r\n`);
  return reply
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${name}.csv"`)
    .send(`${manner === undefined ? '' : UTF_8_MARK}${lines.join('')}`);
}

/** Epoch milliseconds as programs read them: ISO 8601, UTC. */
export function isoTime(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

const TIME_MEMBER = /^(?:at|since)$|(?:At|Since)$/;

/** Members that have the words of others, in which nothing is ours to write otherwise. */
const FOREIGN = new Set(['document', 'detail', 'shippingAddress', 'evaluation']);

function withTimes(value: unknown, timeOf: (member: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => withTimes(one, timeOf));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      if (FOREIGN.has(name)) return [name, member];
      const isTime = TIME_MEMBER.test(name) && typeof member !== 'object';
      return [name, isTime ? timeOf(member) : withTimes(member, timeOf)];
    }),
  );
}

/** Members that are points in time as {@link isoTime} writes them, in all of a value. */
export function isoTimes(value: unknown): unknown {
  return withTimes(value, (member) => (typeof member === 'number' ? isoTime(member) : member));
}

/** The same backwards: epoch milliseconds, as commands have them. */
export function epochTimes(value: unknown): unknown {
  return withTimes(value, (member) => (typeof member === 'string' ? Date.parse(member) : member));
}
