/** A route of the control API. The table of routes is what is served and what `GET /` lists. */
import { z } from 'zod';

export interface ControlCall {
  readonly params: Readonly<Record<string, string>>;
  readonly query: unknown;
  readonly body: unknown;
}

export interface ControlRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly summary: string;
  run(call: ControlCall): unknown;
}

/** Error that is answered with its status and message. */
export class ControlError extends Error {
  override readonly name = 'ControlError';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Parses a value; throws an error for a 422 that names every problem with its path. */
export function read<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const parsed = schema.safeParse(value ?? {});
  if (parsed.success) return parsed.data;
  throw new ControlError(422, z.prettifyError(parsed.error));
}

/** Gives the record; throws an error for a 404 when it is undefined. */
export function found<T>(record: T | undefined, what: string): T {
  if (record === undefined) throw new ControlError(404, `${what} not found`);
  return record;
}

export function idOf(call: ControlCall): number {
  const text = call.params.id ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
}
