/**
 * A route of V2. From the table of routes the server registers them, and the description is made.
 */
import type { z } from 'zod';
import type { ResourceType } from './pdm/resources.ts';
import type { Address } from './reads.ts';

export interface V2Call {
  readonly id: string;
  /** Id of the sub-resource; empty where the path names none. */
  readonly subId: string;
  /** Index of the account of a b2b key; undefined: another key, or none. */
  readonly account: number | undefined;
  readonly address: Address;
  readonly body: unknown;
}

export interface V2Answer {
  readonly status: number;
  /** Document of the answer; undefined: the answer has no body. */
  readonly document?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface V2Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path with fastify's `:id` where it names one resource. */
  readonly path: string;
  readonly access: 'open' | 'read' | 'write' | 'webhooks';
  readonly summary: string;
  readonly tag: string;
  /** Type of the resources in the answer, which decides on fields, includes and filters. */
  readonly type?: ResourceType;
  readonly paged?: boolean;
  readonly body?: z.ZodType;
  readonly status: number;
  readonly answer?: z.ZodType;
  run(call: V2Call): V2Answer;
}
