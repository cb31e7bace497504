/**
 * A report is a file with one SELECT and, before it, a comment that says what it is:
 *
 *     /*
 *     title: Stock of a style
 *     params:
 *       style: { type: text, about: the number of the style }
 *     *\/
 *     SELECT … WHERE style_no = :style
 *
 * The program brings some along (`config/reports`); the user's folder adds to them, and a file of
 * the same name stands in for the one that came along.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse as parseYaml, YAMLParseError } from 'yaml';
import { z } from 'zod';
import { ConfigError, RefusedError, toError } from '../lib/errors.ts';
import { nearestName } from '../lib/nearest.ts';

const SHIPPED = fileURLToPath(new URL('../../config/reports/', import.meta.url));

/** `text`, a whole `number`, or a `time`: ISO 8601, or how long ago (`28d`). */
const parameterSchema = z.strictObject({
  type: z.enum(['text', 'number', 'time']),
  about: z.string().min(1),
  default: z.union([z.string(), z.number()]).transform(String).optional(),
});

const headSchema = z.strictObject({
  title: z.string().min(1),
  about: z.string().min(1).optional(),
  params: z.record(z.string().regex(/^[a-z][a-z0-9_]*$/), parameterSchema).default({}),
});

export type Parameter = z.output<typeof parameterSchema>;

export interface Report extends z.output<typeof headSchema> {
  readonly name: string;
  readonly sql: string;
  /** Where it stands, for messages. */
  readonly file: string;
}

const HEAD = /^\s*\/\*([\s\S]*?)\*\//;

function headOf(file: string, text: string): z.output<typeof headSchema> {
  const head = HEAD.exec(text)?.[1];
  const wanted = 'begin it with /* title: … */ (see docs/reporting.md)';
  if (head === undefined) {
    throw new ConfigError('report.no_head', `${file} does not say what it is`, { hint: wanted });
  }
  try {
    return headSchema.parse(parseYaml(head));
  } catch (thrown) {
    if (!(thrown instanceof z.ZodError) && !(thrown instanceof YAMLParseError)) throw thrown;
    const reason = thrown instanceof z.ZodError ? z.prettifyError(thrown) : thrown.message;
    throw new ConfigError('report.bad_head', `${file}: ${reason}`, { hint: wanted });
  }
}

function readReport(folder: string, name: string): Report {
  const file = join(folder, `${name}.sql`);
  const text = readFileSync(file, 'utf8');
  return { ...headOf(file, text), name, file, sql: text.replace(HEAD, '').trim() };
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => /^[a-z0-9][a-z0-9-]*\.sql$/.test(name))
      .map((name) => name.slice(0, -4));
  } catch (thrown) {
    throw new ConfigError('report.unreadable', `reports: ${toError(thrown).message}`, {
      hint: 'check reports.directory in the configuration',
    });
  }
}

/** Every report by name. The user's folder need not exist. */
export function readReports(directory: string): Report[] {
  const own = existsSync(directory) ? namesIn(directory) : [];
  const shipped = namesIn(SHIPPED).filter((name) => !own.includes(name));
  const all = [
    ...shipped.map((name) => readReport(SHIPPED, name)),
    ...own.map((name) => readReport(directory, name)),
  ];
  return all.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** One report; a RefusedError with the nearest name when there is none. */
export function findReport(directory: string, name: string): Report {
  const reports = readReports(directory);
  const found = reports.find((report) => report.name === name);
  if (found) return found;
  const near = nearestName(
    name,
    reports.map((report) => report.name),
  );
  throw new RefusedError('report.unknown', `there is no report ${name}`, {
    hint: near === undefined ? 'selvedge report list shows all' : `did you mean ${near}?`,
  });
}
