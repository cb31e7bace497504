/** Failures of PostgreSQL, or on the way there, with a code and a hint; `pg` tells no secrets. */
import { RefusedError, RetryLaterError, type SelvedgeError, toError } from '../lib/errors.ts';

interface Reason {
  /** Matches the SQLSTATE and the message, with a space between. */
  readonly matches: RegExp;
  readonly code: string;
  readonly hint: string;
  /** Passes by itself, or once somebody has mended PostgreSQL. */
  readonly passes?: boolean;
}

const POOLER = 'the pooler in plane.url must allow this: ';

const REASONS: readonly Reason[] = [
  {
    matches: /^08P01 .*(?:startup parameter|\boptions\b)/,
    code: 'plane.pooler',
    hint:
      `${POOLER}take "options" and other settings out of plane.url, which needs none, or add ` +
      'them to ignore_startup_parameters of PgBouncer',
  },
  {
    matches: /^\S* .*(?:statement pooling|transaction blocks not allowed)/,
    code: 'plane.pooler',
    hint: `${POOLER}pool_mode = transaction or session for this database`,
  },
  {
    matches: /^25006 /,
    code: 'plane.read_only',
    hint:
      'this server is a standby, or set to read only: plane.url must name the primary, or an ' +
      'address that follows it (a pooler, a virtual address); the copy goes on by itself then',
    passes: true,
  },
  {
    matches: /^55P03 /,
    code: 'plane.locked',
    hint:
      'it goes on by itself once that session ends its transaction; to end the session: ' +
      'select pg_terminate_backend(<its number>)',
    passes: true,
  },
  {
    matches: /^53300 /,
    code: 'plane.unreachable',
    hint: 'PostgreSQL has no connection free: max_connections, or the limit of this user',
    passes: true,
  },
  {
    matches: /^53100 /,
    code: 'plane.full',
    hint: 'the disk of PostgreSQL is full; the copy goes on by itself once there is room',
    passes: true,
  },
  {
    matches: /^57014 /,
    code: 'plane.too_slow',
    hint: 'PostgreSQL took too long, or somebody canceled the statement; it is tried again',
    passes: true,
  },
  {
    matches: /^(?:57P0[1235]|57P03) /,
    code: 'plane.unreachable',
    hint: 'PostgreSQL stops, starts, or somebody ended this session; the copy catches up by itself',
    passes: true,
  },
  {
    matches: /^42501 .*must be owner/,
    code: 'plane.no_permission',
    hint:
      'the user of plane.url must own the schema and all in it; after a change of roles: ' +
      'reassign owned by <old> to <new>, then "selvedge plane grant-reader <role>" for each',
  },
  {
    matches: /^42501 .*for database/,
    code: 'plane.no_permission',
    hint: 'the user of plane.url may make no schema there: grant create on database … to …',
  },
  {
    matches: /^42501 /,
    code: 'plane.no_permission',
    hint:
      'to read, the user of plane.url needs "selvedge plane grant-reader <role>"; to copy, ' +
      'or to let others read, it must own the schema of the plane',
  },
  {
    matches: /^(?:28|3D)/,
    code: 'plane.refused',
    hint: 'check plane.url: user, password, name of the database',
  },
  {
    matches: /^(?:42P01|3F000|42703) /,
    code: 'plane.no_schema',
    hint: 'run "selvedge plane init"',
  },
  {
    // Else it would be called unreachable, and somebody would look at the network.
    matches: /^(?:0A|22|42)/,
    code: 'plane.bad_sql',
    hint: 'this is a mistake in the program; please report it',
  },
];

const UNREACHABLE: Omit<Reason, 'matches'> = {
  code: 'plane.unreachable',
  hint: 'the copy waits and catches up by itself; check that PostgreSQL runs and answers',
  passes: true,
};

/** SQLSTATE of an error of PostgreSQL or a pooler; undefined: nobody answered. */
export function sqlState(thrown: unknown): string | undefined {
  const error = toError(thrown);
  const state = 'code' in error ? String(error.code) : '';
  return /^[0-9A-Z]{5}$/.test(state) && 'severity' in error ? state : undefined;
}

/** The failure with what it is about, where somebody found out. */
export function asPlaneError(thrown: unknown, about?: string): SelvedgeError {
  const error = toError(thrown);
  const state = 'code' in error ? String(error.code) : '';
  const text = error.message || state;
  const { code, hint, passes } =
    REASONS.find(({ matches }) => matches.test(`${state} ${text}`)) ?? UNREACHABLE;
  const message = `PostgreSQL: ${about ?? text}`;
  const detail = { hint, cause: thrown };
  return passes === true
    ? new RetryLaterError(code, message, detail)
    : new RefusedError(code, message, detail);
}

/** The error that PostgreSQL itself would have given. */
export function permissionDenied(what: string): SelvedgeError {
  const error = new Error(`permission denied for ${what}`);
  return asPlaneError(Object.assign(error, { code: '42501' }));
}
