/** Sends pages and tables: HTML for people, JSON and CSV for programs. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type CsvCell, csvLine, csvMannerOf } from '../lib/csv.ts';
import { type Html, renderHtml } from '../lib/html.ts';
import { isoTime } from '../surface/forms.ts';

const FORM = /^(?:application\/x-www-form-urlencoded|multipart\/form-data)\b/;

/** Whether a browser asks; a program names a twin, has a token, or sends no form. */
export function isForPeople({ headers, url, method }: FastifyRequest): boolean {
  if (/^[^?]*\.(?:json|csv)(?:\?|$)/.test(url)) return false;
  if (headers.authorization !== undefined) return false;
  return method !== 'POST' || FORM.test(headers['content-type'] ?? '');
}

/**
 * Address of the page whose script asks for a part of it, or sends a form; undefined: a browser or
 * a program asks.
 */
export function partOf(request: FastifyRequest): string | undefined {
  const page = request.headers['x-part'];
  return typeof page === 'string' && isForPeople(request) ? page : undefined;
}

export function sendPage(reply: FastifyReply, page: Html): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(renderHtml(page));
}

/** A list as columns and rows, for CSV. */
export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly CsvCell[])[];
}

/**
 * Query parameter of CSV twins. Links on pages name the reader's language, for a spreadsheet;
 * without it, programs get RFC 4180.
 */
export const csvQuery = z.object({
  locale: z
    .string()
    .max(35)
    .refine((locale) => csvMannerOf(locale) !== undefined, 'must be a language tag such as da-DK')
    .optional(),
});

/** Language that the browser asks for first; empty: none that is known. */
export function localeOf({ headers }: FastifyRequest): string {
  const [first = ''] = (headers['accept-language'] ?? '').split(/[,;]/);
  const locale = first.trim();
  return csvMannerOf(locale) === undefined ? '' : locale;
}

/** Byte order mark, without which spreadsheets read UTF-8 in another encoding. */
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

const TIME_MEMBER = /^(?:at|since)$|(?:At|Since)$/;

/** Members whose content comes from others, and in which times are left as they are. */
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

/** The value with all members that are times turned from epoch ms into ISO 8601. */
export function isoTimes(value: unknown): unknown {
  return withTimes(value, (member) => (typeof member === 'number' ? isoTime(member) : member));
}

/** Turns all times in a value from ISO 8601 into epoch ms, as commands have them. */
export function epochTimes(value: unknown): unknown {
  return withTimes(value, (member) => (typeof member === 'string' ? Date.parse(member) : member));
}
