/** What looks have found at the service that may be a document, read out of their evidence. */
import { z } from 'zod';
import { tryParseJson } from '../../lib/json.ts';

const evidenceSchema = z.object({
  detail: z.object({
    orderId: z.int().optional(),
    orderIds: z.array(z.int()).optional(),
    pendingRefundId: z.int().optional(),
    pendingRefundIds: z.array(z.int()).optional(),
  }),
});

export interface Candidates {
  readonly orderIds: readonly number[];
  readonly pendingRefundIds: readonly number[];
}

/** Of the details of evidence rows, as they are stored. */
export function candidatesIn(details: readonly string[]): Candidates {
  const orderIds = new Set<number>();
  const pendingRefundIds = new Set<number>();
  for (const text of details) {
    const parsed = evidenceSchema.safeParse(tryParseJson(text));
    if (!parsed.success) continue;
    const { detail } = parsed.data;
    for (const id of [detail.orderId, ...(detail.orderIds ?? [])]) {
      if (id !== undefined) orderIds.add(id);
    }
    for (const id of [detail.pendingRefundId, ...(detail.pendingRefundIds ?? [])]) {
      if (id !== undefined) pendingRefundIds.add(id);
    }
  }
  return { orderIds: [...orderIds], pendingRefundIds: [...pendingRefundIds] };
}
