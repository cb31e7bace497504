/** Options by which several outbox commands select rows. */
import { Option } from 'commander';
import { OUTBOX_KINDS } from '../../config/schema.ts';
import { OUTBOX_STATES } from '../../store/tables.ts';

export interface FilterOptions {
  readonly kind?: string;
  readonly state?: (typeof OUTBOX_STATES)[number];
  readonly needsAttention?: boolean;
}

export function filterOptions(): Option[] {
  return [
    new Option('--kind <kind>', 'only of this kind').choices(OUTBOX_KINDS),
    new Option('--state <state>', 'only in this state').choices(OUTBOX_STATES),
    new Option('--needs-attention', 'only rows that need a person'),
  ];
}
