/** Refusals of V2: the members of a JSON:API error object. */
import { STATUS_CODES } from 'node:http';

export const V2_MEDIA_TYPE = 'application/vnd.api+json';

interface ProblemSource {
  readonly parameter?: string;
  readonly pointer?: string;
}

export interface Problem {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly source?: ProblemSource;
  /** Seconds for the header `Retry-After`. */
  readonly retryAfter?: string;
}

/** Error with the problems of a request, all with the status of the first. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly problems: readonly Problem[];

  constructor(...problems: readonly Problem[]) {
    super(problems[0]?.detail ?? 'refused');
    this.problems = problems;
  }
}

export function badParameter(parameter: string, code: string, detail: string): Problem {
  return { status: 400, code, detail, source: { parameter } };
}

export function badMember(pointer: string, detail: string): Problem {
  return { status: 422, code: 'invalid_member', detail, source: { pointer } };
}

export function errorsDocument(problems: readonly Problem[]) {
  return {
    errors: problems.map(({ status, code, detail, source }) => ({
      status: String(status),
      code,
      title: STATUS_CODES[status] ?? 'Error',
      detail,
      ...(source ? { source } : {}),
    })),
  };
}
