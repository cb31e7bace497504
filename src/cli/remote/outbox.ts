/** Reads a push over a URL. */
import { z } from 'zod';
import type { OutboxCard } from '../../outbox/review/listing.ts';
import type { RemoteConsole } from './console.ts';
import { shaped } from './shapes.ts';

const card = shaped<OutboxCard>(
  z.looseObject({
    outboxId: z.int(),
    kind: z.string(),
    reference: z.string(),
    state: z.string(),
    createdAt: z.number(),
    document: z.looseObject({}),
    deliveries: z.array(z.looseObject({})),
    problems: z.array(z.looseObject({})),
    attemptLog: z.array(z.looseObject({ startedAt: z.number() })),
    evidence: z.array(z.looseObject({ at: z.number() })),
    candidates: z.array(z.looseObject({ lines: z.array(z.looseObject({})) })),
    revisions: z.array(z.looseObject({})),
  }),
);

export function showRemoteOutbox(remote: RemoteConsole, outboxId: number): Promise<OutboxCard> {
  return remote.get(`/outbox/${outboxId}.json`, card);
}
