/**
 * A session with the plane for reports: one transaction, which cannot write, sees one moment, and
 * ends with the session; no statement takes too long.
 */
import { RetryLaterError, SelvedgeError, toError } from '../lib/errors.ts';
import { formatDuration } from '../lib/units.ts';
import { quoted, requireUsage } from './postgres.ts';
import { asPlaneError } from './refusal.ts';
import { startSession } from './session.ts';

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

/** A change of a view gives up sooner. */
const LOCK_TIMEOUT_MS = 5_000;

/** Sorts and hashes of a million rows, in memory. */
const WORK_MIB = 64;

/** JIT takes longer than it saves: a view of many columns is compiled for a handful of rows. */
function settings({ schema, timeMaxMs }: SessionOptions): string {
  return [
    'begin isolation level repeatable read read only',
    `set local search_path to ${quoted(schema)}`,
    `set local statement_timeout = ${timeMaxMs}`,
    `set local lock_timeout = ${LOCK_TIMEOUT_MS}`,
    `set local idle_in_transaction_session_timeout = ${timeMaxMs}`,
    'set local jit = off',
    `set local work_mem = '${WORK_MIB}MB'`,
  ].join('; ');
}

const CANCELED = '57014';

function asReportError(thrown: unknown, timeMaxMs: number): Error {
  if (thrown instanceof SelvedgeError) return thrown;
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
  const {
    client,
    watched,
    end: leave,
  } = await startSession(options, {
    application_name: 'selvedge report',
    types: { getTypeParser: (type: number) => PARSERS.get(type) ?? String },
  });
  const end = async (): Promise<void> => {
    // A pooler would end its own session, too, whose transaction is open.
    await watched(() => client.query('rollback')).catch(() => undefined);
    await leave();
  };
  try {
    await watched(() => client.query(settings(options)), true);
    await requireUsage((text) => watched(() => client.query(text)));
  } catch (thrown) {
    await end();
    throw asReportError(thrown, options.timeMaxMs);
  }
  return {
    end,
    async query(text, params = []) {
      try {
        const asked = { text, values: [...params], rowMode: 'array' } as const;
        const { fields, rows } = await watched(() => client.query<Value[]>(asked));
        return { columns: fields.map(({ name }) => name), rows };
      } catch (thrown) {
        throw asReportError(thrown, options.timeMaxMs);
      }
    },
  };
}
