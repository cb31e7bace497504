/** Routes behind `selvedge orders push` and `refunds push`, below `/api/intake/`. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import type { Intake } from '../outbox/intake/intake.ts';
import type { Preflight } from '../outbox/intake/preflight.ts';
import { type Receipt, readReceipt, refusalReceipt } from '../outbox/intake/receipt.ts';
import type { Store } from '../store/store.ts';
import { actorFields } from './actor.ts';
import type { RouteGroup } from './api.ts';

export interface PushRouteDeps {
  readonly store: Store;
  readonly intake: Intake;
  readonly preflight: Preflight;
  readonly clock: Clock;
}

const BODY_BYTES_MAX = 4_194_304;
const DOCUMENTS_MAX = 200;
const IDS_MAX = 1_000;
/** Receipts read before the event loop gets its turn. */
const SLICE = 20;

const payloads = {
  actor: actorFields.actor,
  kind: z.enum(['order', 'pending_refund']),
  payloads: z.array(z.unknown()).min(1).max(DOCUMENTS_MAX),
};
const pushBody = z.strictObject({ ...payloads, source: z.string().max(500) });
const checkBody = z.strictObject(payloads);
const receiptsBody = z.strictObject({
  actor: actorFields.actor,
  documentIds: z.array(z.int()).max(IDS_MAX),
});

export function pushRoutes({ store, intake, preflight, clock }: PushRouteDeps): RouteGroup {
  const options = { bodyLimit: BODY_BYTES_MAX };
  const receiptsOf = async (ids: readonly number[]): Promise<(Receipt | undefined)[]> => {
    const found: (Receipt | undefined)[] = [];
    for (const [index, id] of ids.entries()) {
      if (index % SLICE === SLICE - 1) await nextTurn();
      found.push(await readReceipt(store.db, id));
    }
    return found;
  };
  return {
    access: 'operator',
    install(app) {
      app.post('/api/intake/push', options, async ({ body }) => {
        const { actor, kind, source, payloads: given } = pushBody.parse(body);
        const receivedAt = clock.now();
        const where = { channel: 'cli', source: `${actor}: ${source}`, receivedAt } as const;
        const handed = await intake.submit(
          given.map((payload) => ({ kind, reference: undefined, payload, ...where })),
        );
        const receipts = await receiptsOf(handed.flatMap((one) => (one.ok ? one.documentId : [])));
        const answers = handed.map((one) => ({
          repeated: one.ok && one.repeated,
          receipt: one.ok ? receipts.shift() : refusalReceipt(kind, one, receivedAt),
        }));
        return { answers };
      });
      app.post('/api/intake/check', options, async ({ body }, reply) => {
        const { kind, payloads: given } = checkBody.parse(body);
        const gone = new AbortController();
        reply.raw.once('close', () => gone.abort(new Error('nobody waits')));
        const answers: unknown[] = [];
        for (const payload of given) {
          answers.push(await preflight({ kind, reference: undefined, payload }, gone.signal));
        }
        return { answers };
      });
      app.post('/api/intake/receipts', async ({ body }) => {
        return { receipts: await receiptsOf(receiptsBody.parse(body).documentIds) };
      });
    },
  };
}
