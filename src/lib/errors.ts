/**
 * One error class per decision of the caller. `code` is stable (never reused once retired) and is
 * what programs test; `hint` tells the operator the next step; decisions are never made from the
 * text of a message.
 */

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

/** Nothing happened yet and the same request may be made again later. */
export class RetryLaterError extends SelvedgeError {
  override readonly name = 'RetryLaterError';
  /** Milliseconds the other side asked us to wait, when it said so. */
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

/** The token is gone: log in once and repeat once. */
export class LoginAgainError extends SelvedgeError {
  override readonly name = 'LoginAgainError';
}

const LINES_SHOWN = 20;
const LINE_CHARS_SHOWN = 500;

/** The other side said no, definitely; repeating the same request cannot help. */
export class RefusedError extends SelvedgeError {
  override readonly name = 'RefusedError';
  /** The service's own lines, e.g. `invalid_data` of a 422. */
  readonly lines: readonly string[];

  constructor(
    code: string,
    message: string,
    detail: ErrorDetail & { readonly lines?: readonly string[] } = {},
  ) {
    super(code, message, detail);
    this.lines = detail.lines ?? [];
  }

  /** For a line in a list or a log: the service may have one for each line of a long order. */
  get words(): string {
    if (this.lines.length === 0) return this.message;
    const shown = this.lines.slice(0, LINES_SHOWN).map((line) => line.slice(0, LINE_CHARS_SHOWN));
    const more = this.lines.length - shown.length;
    return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
  }
}

/** The state at the other side forbids it (HTTP 409): read again, compare, decide anew. */
export class ConflictError extends SelvedgeError {
  override readonly name = 'ConflictError';
}

/** The request may or may not have taken effect; only evidence leads on. */
export class InDoubtError extends SelvedgeError {
  override readonly name = 'InDoubtError';
}

/** What was typed cannot be meant so; nothing was begun. */
export class UsageError extends SelvedgeError {
  override readonly name = 'UsageError';
}

/** The configuration cannot be used; a person must change it. */
export class ConfigError extends SelvedgeError {
  override readonly name = 'ConfigError';
}

/** The database cannot be used as it is; a person must look. */
export class StoreError extends SelvedgeError {
  override readonly name = 'StoreError';
}

/** A mistake of ours. */
export class BugError extends SelvedgeError {
  override readonly name = 'BugError';
}

/** States that `condition` holds; a failure is a bug, not an operating error. */
export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new BugError('bug.invariant', message);
}

/**
 * The database cannot be used, which no later try makes better. Who puts other errors off throws
 * this one on: all ends, before anything more is written into the file.
 */
export function isStoreUnusable(error: unknown): boolean {
  return error instanceof StoreError;
}

/** `ENOENT` and the like of an error of the system; of anything else its words. */
export function errorCode(thrown: unknown): string {
  const isCoded = thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string';
  return isCoded ? String(thrown.code) : String(thrown);
}

/** Anything thrown, as an Error. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** Exit codes: one table for `--help`, the documentation and the systemd unit. */
export const EXIT = {
  ok: { code: 0, meaning: 'done' },
  failure: { code: 1, meaning: 'the command failed; the message says why' },
  usage: { code: 2, meaning: 'the command line is wrong' },
  refused: { code: 3, meaning: 'documents were refused; their lines say why' },
  unfinished: { code: 4, meaning: 'documents have not ended in the time that --wait gave' },
  store: {
    code: 65,
    meaning: 'the database is damaged, not ours, newer than the program or made before 0.1.0',
  },
  bug: { code: 70, meaning: 'a mistake in the program; please report it' },
  migration: { code: 73, meaning: 'a schema migration failed; nothing was changed' },
  temporary: {
    code: 75,
    meaning: 'the database or the port is held, the disk is full or the clock not set: try later',
  },
  config: { code: 78, meaning: 'the configuration or the rules are wrong' },
  forced: { code: 130, meaning: 'stopped by force (second signal)' },
} as const;

/** As SQLite, the system and we say it; SHMSIZE: the index of its log could not be made larger. */
const FULL: unknown[] = [
  'SQLITE_FULL',
  'SQLITE_IOERR_SHMSIZE',
  'ENOSPC',
  'EDQUOT',
  'store.disk_full',
];

/** Whether a full disk is the reason, or the reason of the reason: room is all that it needs. */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('code' in error && FULL.includes(error.code)) || isDiskFull(error.cause);
}

/** What somebody else holds, and may let go of; and a clock that is set soon after a boot. */
const PASSING = ['store.locked', 'store.busy', 'http.address_taken', 'clock.not_set'];

/** The exit code that tells a shell or systemd what kind of failure this was. */
export function exitCodeOf(error: unknown): number {
  const isPassing = error instanceof SelvedgeError && PASSING.includes(error.code);
  if (isPassing || isDiskFull(error)) return EXIT.temporary.code;
  if (error instanceof UsageError) return EXIT.usage.code;
  if (error instanceof ConfigError) return EXIT.config.code;
  if (error instanceof StoreError) {
    if (error.code === 'store.migration_failed') return EXIT.migration.code;
    return EXIT.store.code;
  }
  return error instanceof BugError ? EXIT.bug.code : EXIT.failure.code;
}
