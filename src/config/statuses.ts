/**
 * Statuses that the service's contract lists for each kind of record (docs/wire.md, "V1 shapes").
 */
export const STATUSES = {
  order: ['pending', 'fulfilled', 'partially_fulfilled', 'canceled'],
  delivery: ['pending', 'accepted', 'rejected', 'canceled'],
  refund: ['pending', 'accepted', 'rejected', 'canceled'],
  pendingRefund: ['pending', 'confirmed', 'canceled'],
} as const;

export type StatusOf = keyof typeof STATUSES;
