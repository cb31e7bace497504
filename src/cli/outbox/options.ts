/** What the commands of the outbox share: how rows are named and how times are shown. */
import { Option } from 'commander';

const STATES = [
  ...(['queued', 'sending', 'sent', 'confirmed'] as const),
  ...(['refused', 'in_doubt', 'dead', 'canceled'] as const),
] as const;

export const KINDS = ['order', 'pending_refund', 'refund_status', 'style', 'delivery_status'];

export interface FilterOptions {
  readonly kind?: string;
  readonly state?: (typeof STATES)[number];
  readonly desk?: boolean;
}

export function filterOptions(): Option[] {
  return [
    new Option('--kind <kind>', 'only of this kind').choices(KINDS),
    new Option('--state <state>', 'only in this state').choices(STATES),
    new Option('--desk', 'only what waits for a person'),
  ];
}

export function timeText(at: number): string {
  return new Date(at).toISOString();
}
