/**
 * Defines one error class per reaction of the caller. `code` is stable (never reused once retired)
 * and is what programs test; `hint` gives the operator the next step; nothing decides by a
 * message's text.
 */

import { quoted } from './reading/quoted.ts';

export interface ErrorDetail {
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

export class SelvedgeError extends Error {
  override readonly name: string = 'SelvedgeError';
  readonly code: string;
  readonly hint: string | undefined;

  constructor(code: string, message: string, detail: ErrorDetail = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.code = code;
    this.hint = detail.hint;
  }
}

/** Error for a request that had no effect yet and may be repeated later. */
export class RetryLaterError extends SelvedgeError {
  override readonly name = 'RetryLaterError';
  /** Milliseconds that the other side asked to wait; undefined: it named none. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: string,
    message: string,
    detail: ErrorDetail & { readonly retryAfterMs?: number | undefined } = {},
  ) {
    super(code, message, detail);
    this.retryAfterMs = detail.retryAfterMs;
  }
}

/** Error for a refused token: log in once and retry once. */
export class LoginAgainError extends SelvedgeError {
  override readonly name = 'LoginAgainError';
}

const LINES_SHOWN = 20;
const LINE_CHARS_SHOWN = 500;

/** Error for a request that the other side definitely refused; repeating it cannot help. */
export class RefusedError extends SelvedgeError {
  override readonly name = 'RefusedError';
  /** Lines in which the service explains the refusal, e.g. `invalid_data` of a 422. */
  readonly lines: readonly string[];

  constructor(
    code: string,
    message: string,
    detail: ErrorDetail & { readonly lines?: readonly string[] } = {},
  ) {
    super(code, message, detail);
    this.lines = detail.lines ?? [];
  }

  /**
   * Message for a list or a log line, shortened: a refusal may have a line for each line of an
   * order.
   */
  get fullMessage(): string {
    if (this.lines.length === 0) return this.message;
    const shown = this.lines.slice(0, LINES_SHOWN).map((line) => line.slice(0, LINE_CHARS_SHOWN));
    const more = this.lines.length - shown.length;
    return quoted(shown.join('; ')) + (more > 0 ? `; and ${more} more` : '');
  }
}

/**
 * Error for a write that the remote state forbids (HTTP 409): read again, compare, decide again.
 */
export class ConflictError extends SelvedgeError {
  override readonly name = 'ConflictError';
}

/** Error for a request that may or may not have taken effect; only a lookup can tell. */
export class InDoubtError extends SelvedgeError {
  override readonly name = 'InDoubtError';
  /** HTTP status of the answer; undefined: there was none, or none that can be understood. */
  readonly status: number | undefined;

  constructor(
    code: string,
    message: string,
    detail: ErrorDetail & { readonly status?: number } = {},
  ) {
    super(code, message, detail);
    this.status = detail.status;
  }
}

/** Error for a wrong command line; nothing was started. */
export class UsageError extends SelvedgeError {
  override readonly name = 'UsageError';
}

/** Error for an unusable configuration, which a person must change. */
export class ConfigError extends SelvedgeError {
  override readonly name = 'ConfigError';
}

/** Error for an unusable database, which a person must look at. */
export class StoreError extends SelvedgeError {
  override readonly name = 'StoreError';
}

/** Error for a bug of this program. */
export class BugError extends SelvedgeError {
  override readonly name = 'BugError';
}

/** Asserts a condition whose failure is a bug, not an operating error. */
export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new BugError('bug.invariant', message);
}

/**
 * Whether an error says that the database is unusable, which no retry fixes. Code that postpones
 * other errors must rethrow this one, so that nothing more is written into the file.
 */
export function isStoreUnusable(error: unknown): boolean {
  return error instanceof StoreError;
}

/** The refusal with a hint that fits it better; another error stays as it is. */
export function hinted(error: unknown, hint: string): unknown {
  if (!(error instanceof RefusedError)) return error;
  return new RefusedError(error.code, error.message, { cause: error, lines: error.lines, hint });
}

/** Code of a system error such as `ENOENT`; otherwise the thrown value as text. */
export function errorCode(thrown: unknown): string {
  const isCoded = thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string';
  return isCoded ? String(thrown.code) : String(thrown);
}

/**
 * Thrown value as an error. Where the release of resources failed as well, it is the error of
 * before: on a full disk, both fail for the same reason.
 */
export function toError(thrown: unknown): Error {
  if (thrown instanceof SuppressedError) return toError(thrown.suppressed);
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** Exit codes of commands: one table for `--help`, the documentation and the systemd unit. */
export const EXIT = {
  ok: { code: 0, meaning: 'done' },
  failure: { code: 1, meaning: 'the command failed; the message says why' },
  usage: { code: 2, meaning: 'the command line is wrong' },
  refused: { code: 3, meaning: 'documents were refused, ended badly or (--dry-run) are unclear' },
  unfinished: { code: 4, meaning: 'documents have not ended in the time that --wait gave' },
  notKnown: {
    code: 5,
    meaning: 'facts of past decisions are not known, so that a backtest proves nothing',
  },
  store: {
    code: 65,
    meaning: 'the database is damaged, not ours, newer than the program or made before 0.1.0',
  },
  bug: { code: 70, meaning: 'a mistake in the program; please report it' },
  migration: { code: 73, meaning: 'a schema migration failed; nothing was changed' },
  temporary: {
    code: 75,
    meaning:
      'the database or the port is held, the disk is full, the clock not set, or no daemon or ' +
      'console answers: try later',
  },
  superseded: { code: 76, meaning: 'another machine holds the lease: start a standby here' },
  takenOver: { code: 77, meaning: 'the standby has taken over: start the daemon here' },
  config: { code: 78, meaning: 'the configuration or the rules are wrong' },
  forced: { code: 130, meaning: 'stopped by force (second signal)' },
} as const;

/**
 * Error codes for a full disk, of SQLite, the system and this program; SHMSIZE: the WAL index could
 * not grow.
 */
const FULL: unknown[] = [
  'SQLITE_FULL',
  'SQLITE_IOERR_SHMSIZE',
  'ENOSPC',
  'EDQUOT',
  'store.disk_full',
];

/** Whether an error, or one of its causes, is due to a full disk. */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('code' in error && FULL.includes(error.code)) || isDiskFull(error.cause);
}

/**
 * Codes of errors that pass by themselves: resources held by another process, a clock that is set
 * soon after boot, a daemon that does not run, and a console that does not answer or was asked too
 * often.
 */
const PASSING = [
  'store.locked',
  'store.busy',
  'http.address_taken',
  'clock.not_set',
  'local.unreachable',
  'pause.failed',
  'sync.daemon_gone',
  'remote.unreachable',
  'console.rate',
  'standby.unreachable',
  'standby.unknown',
  'standby.no_primary',
  'standby.old_timeline',
  'standby.not_ready',
];

/** Code of the error that ends a daemon because another machine sends for its account. */
export const SUPERSEDED = 'standby.superseded';

/** Code of a refusal because a backtest depends on facts that nobody knows. */
export const NOT_KNOWN = 'rules.not_known';

/** Exit code for an error, which tells a shell or systemd the kind of failure. */
export function exitCodeOf(error: unknown): number {
  const isPassing = error instanceof SelvedgeError && PASSING.includes(error.code);
  if (isPassing || isDiskFull(error)) return EXIT.temporary.code;
  if (error instanceof SelvedgeError && error.code === NOT_KNOWN) return EXIT.notKnown.code;
  if (error instanceof SelvedgeError && error.code === SUPERSEDED) return EXIT.superseded.code;
  if (error instanceof UsageError) return EXIT.usage.code;
  if (error instanceof ConfigError) return EXIT.config.code;
  if (error instanceof StoreError) {
    if (error.code === 'store.migration_failed') return EXIT.migration.code;
    return EXIT.store.code;
  }
  return error instanceof BugError ? EXIT.bug.code : EXIT.failure.code;
}
