/** A route of V2. The table of routes is what the server registers and what is described. */
import type { z } from 'zod';
import type { ResourceType } from './pdm/resources.ts';
import type { Address } from './reads.ts';

export interface V2Call {
  readonly id: string;
  readonly address: Address;
  readonly body: unknown;
}

export interface V2Answer {
  readonly status: number;
  /** Undefined answers without a body. */
  readonly document?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface V2Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** With fastify's `:id` where it names one resource. */
  readonly path: string;
  readonly access: 'open' | 'read' | 'write' | 'webhooks';
  readonly summary: string;
  readonly tag: string;
  /** Resources of the answer; it decides which fields, includes and filters there are. */
  readonly type?: ResourceType;
  readonly paged?: boolean;
  readonly body?: z.ZodType;
  readonly status: number;
  readonly answer?: z.ZodType;
  run(call: V2Call): V2Answer;
}
