/** A session with the plane for reports: it cannot write, and no statement takes too long. */
import { RetryLaterError, toError } from '../lib/errors.ts';
import { formatDuration } from '../lib/units.ts';
import { asPlaneError, quoted, requireUsage, startSession } from './postgres.ts';

type Value = string | number | null;

export interface PlaneSession {
  query(
    text: string,
    params?: readonly Value[],
  ): Promise<{ readonly columns: readonly string[]; readonly rows: readonly (readonly Value[])[] }>;
  /** Never throws. */
  end(): Promise<void>;
}

export interface SessionOptions {
  /** `postgres://…`; holds the password. */
  readonly url: string;
  readonly schema: string;
  readonly timeMaxMs: number;
}

function whole(text: string): Value {
  return Number.isSafeInteger(Number(text)) ? Number(text) : text;
}

/** Types of PostgreSQL by their numbers; values are what SQLite gives for the same. */
const PARSERS: ReadonlyMap<number, (text: string) => Value> = new Map([
  [16, (text: string) => (text === 't' ? 1 : 0)],
  [17, (text: string) => `x'${text.slice(2)}'`],
  [20, whole],
  [21, Number],
  [23, Number],
  [701, Number],
  [1700, Number],
]);

/** Sorts and hashes of a million rows, in memory. */
const WORK_MIB = 64;

/** JIT takes longer than it saves: a view of many columns is compiled for a handful of rows. */
function settings({ schema, timeMaxMs }: SessionOptions): string {
  return [
    `set search_path to ${quoted(schema)}`,
    'set default_transaction_read_only = on',
    `set statement_timeout = ${timeMaxMs}`,
    `set idle_in_transaction_session_timeout = ${timeMaxMs}`,
    'set jit = off',
    `set work_mem = '${WORK_MIB}MB'`,
  ].join('; ');
}

const CANCELED = '57014';

function asReportError(thrown: unknown, timeMaxMs: number): Error {
  const error = toError(thrown);
  const state = 'code' in error ? String(error.code) : '';
  if (state === CANCELED) {
    const message = `the report took longer than ${formatDuration(timeMaxMs)}`;
    return new RetryLaterError('report.too_slow', message, {
      hint: 'narrow it by its parameters, or give it more: --timeout 5m',
      cause: thrown,
    });
  }
  return asPlaneError(thrown);
}

/** Opens a session; `end` it. */
export async function openPlaneSession(options: SessionOptions): Promise<PlaneSession> {
  const client = await startSession(
    options,
    {
      application_name: 'selvedge report',
      types: { getTypeParser: (type: number) => PARSERS.get(type) ?? String },
    },
    settings(options),
  );
  const end = () => client.end().catch(() => undefined);
  try {
    await requireUsage((text) => client.query(text));
  } catch (thrown) {
    await end();
    throw thrown;
  }
  return {
    end,
    async query(text, params = []) {
      try {
        const asked = { text, values: [...params], rowMode: 'array' } as const;
        const { fields, rows } = await client.query<Value[]>(asked);
        return { columns: fields.map(({ name }) => name), rows };
      } catch (thrown) {
        throw asReportError(thrown, options.timeMaxMs);
      }
    },
  };
}
