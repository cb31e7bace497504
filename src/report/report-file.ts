/**
 * Reads reports. A report is a file with one SELECT and, before it, a comment that describes it:
 *
 *     /*
 *     title: Stock of a style
 *     params:
 *       style: { type: text, about: the number of the style }
 *     *\/
 *     SELECT … WHERE style_no = :style
 *
 * The program ships reports (`config/reports`); the user's folder adds to them, and a file of the
 * same name there replaces a shipped one.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Document, isNode, LineCounter, parseDocument, visit, YAMLParseError } from 'yaml';
import { ConfigError, RefusedError, toError } from '../lib/errors.ts';
import { nearestName } from '../lib/nearest.ts';
import { notUtf8At } from '../lib/strings.ts';
import { headSchema, type ReportHead } from './report-head.ts';

const SHIPPED = fileURLToPath(new URL('../../config/reports', import.meta.url));

export interface Report extends ReportHead {
  readonly name: string;
  readonly sql: string;
  /** Whether it is from the user's folder; the dictionary declares the kinds of the others. */
  readonly isOwn: boolean;
  /** Path of the report's file, for messages. */
  readonly file: string;
}

/** A file that is no valid report, with its error; the other reports stay usable. */
export interface WrongReport {
  readonly name: string;
  readonly error: ConfigError;
}

export interface Reports {
  readonly reports: readonly Report[];
  readonly wrong: readonly WrongReport[];
}

/** Largest report file in bytes, far more than a person writes. */
const FILE_BYTES_MAX = 1_048_576;

const HEAD = /^\s*\/\*([\s\S]*?)\*\//;
const WANTED = 'begin it with /* title: … */ (see docs/reporting.md)';

/** Offset in the text of the value at a path, or of the nearest value around it. */
function offsetOf(head: Document.Parsed, path: readonly PropertyKey[]): number {
  for (let length = path.length; length > 0; length -= 1) {
    const node = head.getIn(path.slice(0, length), true);
    if (isNode(node)) return node.range?.[0] ?? 0;
  }
  return head.contents?.range[0] ?? 0;
}

/**
 * Reports aliases that refer to nothing as errors. `*text*` is such an alias in YAML: the parser
 * accepts it, and its value cannot be read.
 */
function noteAliases(head: Document.Parsed): void {
  visit(head, {
    Alias(_key, alias) {
      if (alias.resolve(head)) return;
      const [from = 0, to = from] = alias.range ?? [];
      const message = `*${alias.source} refers to nothing; a text that begins so needs quotes`;
      head.errors.push(new YAMLParseError([from, to], 'BAD_ALIAS', message));
    },
  });
}

/**
 * Values of the head's YAML. Aliases of aliases can expand to billions of values, so the library
 * refuses more than a hundred, which becomes an error of the head.
 */
function readHead(head: Document.Parsed): unknown {
  try {
    return head.toJS();
  } catch (thrown) {
    const from = head.contents?.range[0] ?? 0;
    head.errors.push(new YAMLParseError([from, from], 'BAD_ALIAS', toError(thrown).message));
    return undefined;
  }
}

function headOf(file: string, text: string): ReportHead {
  const [comment, head] = HEAD.exec(text) ?? [];
  if (comment === undefined || head === undefined) {
    const message = `${file}:1: it does not say what it is`;
    throw new ConfigError('report.no_head', message, { hint: WANTED });
  }
  const lines = new LineCounter();
  // Keeps the line breaks before the comment, so that errors name the right line of the file.
  const before = comment.slice(0, comment.indexOf('/*')).replace(/[^\n]/g, '');
  const document = parseDocument(before + head, { lineCounter: lines, prettyErrors: false });
  noteAliases(document);
  const parsed = headSchema.safeParse(document.errors.length > 0 ? undefined : readHead(document));
  if (parsed.success) return parsed.data;
  const faults =
    document.errors.length > 0
      ? document.errors.map(({ pos, message }) => ({ at: pos[0], message }))
      : parsed.error.issues.map(({ path, message }) => ({
          at: offsetOf(document, path),
          message: [path.join('.'), message].filter((part) => part !== '').join(': '),
        }));
  const message = faults
    .map((fault) => `${file}:${lines.linePos(fault.at).line}: ${fault.message}`)
    .join('\n');
  throw new ConfigError('report.bad_head', message, { hint: WANTED });
}

function unreadable(path: string, thrown: unknown): ConfigError {
  return new ConfigError('report.unreadable', `${path}: ${toError(thrown).message}`, {
    hint: 'let the program read it, or change reports.directory in the configuration',
  });
}

/** Reads a report's file; only regular files, because reading a pipe could wait for ever. */
function bytesOf(file: string): Buffer {
  try {
    const stat = statSync(file);
    if (!stat.isFile()) throw new Error('it is no file');
    if (stat.size > FILE_BYTES_MAX) throw new Error(`it is larger than ${FILE_BYTES_MAX} bytes`);
    return readFileSync(file);
  } catch (thrown) {
    throw unreadable(file, thrown);
  }
}

function readReport(folder: string, name: string): Report {
  const file = join(folder, `${name}.sql`);
  if (!/^[a-z0-9][a-z0-9-]*$/.test(name)) {
    const message = `${file}: the name of a report has small letters, digits and hyphens only`;
    throw new ConfigError('report.bad_name', message, { hint: 'rename the file' });
  }
  const bytes = bytesOf(file);
  const at = notUtf8At(bytes);
  if (at) {
    // A text in another encoding would equal none of the mirror's texts.
    const message = `${file}:${at.line}: it is not UTF-8 text`;
    throw new ConfigError('report.encoding', message, { hint: 'save it in this encoding' });
  }
  const text = bytes.toString('utf8');
  const isOwn = folder !== SHIPPED;
  return { ...headOf(file, text), name, file, isOwn, sql: text.replace(HEAD, '').trim() };
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => /^[^.].*\.sql$/.test(name))
      .map((name) => name.slice(0, -4));
  } catch (thrown) {
    throw unreadable(folder, thrown);
  }
}

/** Reads all reports, sorted by name; the user's folder need not exist. */
export function readReports(directory: string): Reports {
  const own = existsSync(directory) ? namesIn(directory) : [];
  const shipped = namesIn(SHIPPED).filter((name) => !own.includes(name));
  const reports: Report[] = [];
  const wrong: WrongReport[] = [];
  const read = (folder: string, name: string): void => {
    try {
      reports.push(readReport(folder, name));
    } catch (thrown) {
      if (!(thrown instanceof ConfigError)) throw thrown;
      wrong.push({ name, error: thrown });
    }
  };
  for (const name of shipped) read(SHIPPED, name);
  for (const name of own) read(directory, name);
  return { reports: reports.sort((a, b) => (a.name < b.name ? -1 : 1)), wrong };
}

/**
 * Reads a report by name, and no other file: the daemon does so for each it makes. Throws
 * RefusedError with the nearest name when there is none.
 */
export function findReport(directory: string, name: string): Report {
  const own = existsSync(directory) ? namesIn(directory) : [];
  if (own.includes(name)) return readReport(directory, name);
  const shipped = namesIn(SHIPPED);
  if (shipped.includes(name)) return readReport(SHIPPED, name);
  const near = nearestName(name, [...shipped, ...own]);
  throw new RefusedError('report.unknown', `there is no report ${name}`, {
    hint: near === undefined ? 'selvedge report list shows all' : `did you mean ${near}?`,
  });
}

/**
 * SQL of the report for the plane: the same as for the mirror, or the file of the same name in
 * `plane/` where PostgreSQL needs other words. Throws RefusedError for a report of the user's
 * folder.
 */
export function planeSqlOf({ name, file, isOwn, sql }: Report): string {
  if (isOwn) {
    const message = `${file} is a report of your own, which is SQL for SQLite`;
    throw new RefusedError('report.not_on_plane', message, {
      hint: 'ask the views of the plane in PostgreSQL, or run it on the mirror, without --on plane',
    });
  }
  const own = join(SHIPPED, 'plane', `${name}.sql`);
  return existsSync(own) ? readFileSync(own, 'utf8').trim() : sql;
}
