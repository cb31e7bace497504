/** Failures of the standby's sessions, with a code and the next step; `pg` tells no secrets. */
import {
  ConfigError,
  RefusedError,
  RetryLaterError,
  SelvedgeError,
  toError,
} from '../lib/errors.ts';

interface Reason {
  /** Matches the SQLSTATE and the message, with a space between. */
  readonly matches: RegExp;
  readonly code: string;
  readonly hint: string;
  /** Passes by itself, or once somebody has mended PostgreSQL. */
  readonly passes?: boolean;
}

const REASONS: readonly Reason[] = [
  {
    matches: /^08P01 .*(?:startup parameter|\boptions\b)/,
    code: 'standby.pooler',
    hint: 'take "options" and other settings out of standby.servers, which needs none',
  },
  {
    matches: /^\S* .*(?:statement pooling|transaction blocks not allowed)/,
    code: 'standby.pooler',
    hint: 'the pooler in standby.servers must have pool_mode = transaction or session',
  },
  {
    matches: /^25006 /,
    code: 'standby.read_only',
    hint: 'this server only reads: standby.servers must also name the primary',
    passes: true,
  },
  {
    matches: /^55P03 /,
    code: 'standby.locked',
    hint: 'another session holds the row of the lease; it goes on by itself',
    passes: true,
  },
  {
    matches: /^0A000 /,
    code: 'standby.unfit',
    hint: 'the server cannot do this: it must be PostgreSQL 15 or newer, behind no other program',
  },
  {
    matches: /^42501 /,
    code: 'standby.no_permission',
    hint: 'the user in standby.servers must own the schema: run "selvedge standby init" as it',
  },
  {
    matches: /^(?:28|3D)/,
    code: 'standby.refused',
    hint: 'check standby.servers: user, password, name of the database',
  },
  {
    matches: /^(?:42P01|3F000|42703) /,
    code: 'standby.no_schema',
    hint: 'run "selvedge standby init"',
  },
  {
    matches: /^(?:22|42)/,
    code: 'standby.bad_sql',
    hint: 'this is a mistake in the program; please report it',
  },
];

const UNREACHABLE: Omit<Reason, 'matches'> = {
  code: 'standby.unreachable',
  hint: 'nothing is sent until PostgreSQL answers; then it goes on by itself',
  passes: true,
};

/** The failure of a session with this server; one of its start has the plane's words. */
export function asStandbyError(thrown: unknown, server?: string): SelvedgeError {
  if (thrown instanceof SelvedgeError && thrown.code.startsWith('standby.')) return thrown;
  if (thrown instanceof ConfigError) return thrown;
  if (thrown instanceof SelvedgeError && thrown.code === 'plane.no_driver') return thrown;
  const error = toError(
    thrown instanceof SelvedgeError && thrown.cause !== undefined ? thrown.cause : thrown,
  );
  const state = 'code' in error ? String(error.code) : '';
  const text = error.message || state;
  const { code, hint, passes } =
    REASONS.find(({ matches }) => matches.test(`${state} ${text}`)) ?? UNREACHABLE;
  const detail = { hint, cause: error };
  const message = `PostgreSQL${server === undefined ? '' : ` at ${server}`}: ${text}`;
  return new (passes === true ? RetryLaterError : RefusedError)(code, message, detail);
}

/** Nobody knows whether the statement took effect: only a new session's read can tell. */
export function unknownError(why: string): RetryLaterError {
  return new RetryLaterError('standby.unknown', `PostgreSQL: ${why}`, { hint: UNREACHABLE.hint });
}
