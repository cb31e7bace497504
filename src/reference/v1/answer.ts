/** V1's envelope, and errors as the wire contract lists them (section 2). */
import type { JsonObject } from '../../lib/json.ts';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Error that a handler throws to answer with an error envelope. */
export class V1Error extends Error {
  override readonly name = 'V1Error';
  readonly status: number;
  readonly invalidData: readonly string[] | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    status: number,
    message: string,
    more: {
      readonly invalidData?: readonly string[];
      readonly retryAfterSeconds?: number | undefined;
    } = {},
  ) {
    super(message);
    this.status = status;
    this.invalidData = more.invalidData;
    this.retryAfterSeconds = more.retryAfterSeconds;
  }
}

export function notFound(what: string): V1Error {
  return new V1Error(404, `${what} not found`);
}

/** Error 422 with a line per problem, each `path: what is wrong`. */
export function invalid(lines: readonly string[]): V1Error {
  return new V1Error(422, 'The request is invalid', { invalidData: lines });
}

/** Result of a handler: a value for the envelope, or the encoded envelope. */
export type Answer =
  | { readonly data: JsonObject }
  /** Encoded envelope; `sent` is called when the bytes were sent and may be overwritten. */
  | { readonly bytes: Buffer; readonly sent?: () => void }
  | { readonly pieces: Iterable<Buffer> };

export function envelope(status: number, message: string, data: JsonObject): JsonObject {
  return { status, message, data };
}

/** Body of an error answer. The envelope of a 422 has `invalid_data` where others have `data`. */
export function errorBody(error: V1Error): JsonObject {
  return error.invalidData
    ? { status: error.status, message: error.message, invalid_data: error.invalidData }
    : envelope(error.status, error.message, {});
}
