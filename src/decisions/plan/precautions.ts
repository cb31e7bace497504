/**
 * The precautions: checks that put a hold in the place of an accept or a reject, in the order in
 * which they are asked. A decision, the look of a pass, a trial and an explanation ask them here,
 * and nowhere else.
 */
import type { Outcome } from '../../rules/combine.ts';
import type { Tx } from '../../store/store.ts';
import { holdForStaleData } from '../accept/freshness.ts';
import { holdForCap, holdForPace } from '../accept/pace.ts';
import { holdForCooldown } from '../accept/revocation.ts';
import { holdForChanges } from '../holds/changes.ts';
import { holdForOwnOrder } from '../holds/own-order.ts';
import { holdForRestored } from '../holds/restored.ts';
import type { Candidate, Precaution } from '../judgement.ts';
import { holdForRepacked, holdOfSafeguard } from '../reject/outcome.ts';

interface PrecautionRow {
  readonly name: string;
  /** Outcomes that it may replace. */
  readonly on: readonly Outcome['kind'][];
  /**
   * `judged`: at each judgement. `new`: only for an accept that would be made now, because the one
   * that stands must not count against itself.
   */
  readonly when: 'judged' | 'new';
  /** Holds all that it concerns for a while: a trial says so once, and not of each delivery. */
  readonly isOfAll?: true;
  readonly check: (tx: Tx, candidate: Candidate) => Promise<Partial<Precaution> | undefined>;
}

const ALL = ['accept', 'reject', 'hold', 'no_rule'] as const;
const BOTH = ['accept', 'reject'] as const;
const ACCEPT = ['accept'] as const;

const PRECAUTIONS: readonly PrecautionRow[] = [
  { name: 'safeguard', on: ALL, when: 'judged', check: holdOfSafeguard },
  { name: 'repacked', on: BOTH, when: 'judged', check: holdForRepacked },
  { name: 'restored', on: BOTH, when: 'judged', check: holdForRestored },
  { name: 'changes', on: BOTH, when: 'judged', isOfAll: true, check: holdForChanges },
  { name: 'freshness', on: ALL, when: 'judged', check: holdForStaleData },
  { name: 'cooldown', on: ACCEPT, when: 'judged', check: holdForCooldown },
  { name: 'document', on: ACCEPT, when: 'judged', check: holdForOwnOrder },
  { name: 'cap', on: ACCEPT, when: 'new', check: holdForCap },
  { name: 'accepts', on: ACCEPT, when: 'new', isOfAll: true, check: holdForPace },
];

export const isJudged = ({ when }: PrecautionRow): boolean => when === 'judged';
export const isOfNew = ({ when }: PrecautionRow): boolean => when === 'new';
/** Not those that hold all alike, which a trial says once. */
export const isOfOne = ({ isOfAll }: PrecautionRow): boolean => isOfAll !== true;

/** The candidate's outcome after these precautions, with the time and the effect of the last. */
export async function withPrecautions(
  tx: Tx,
  candidate: Candidate,
  isAsked: (row: PrecautionRow) => boolean = () => true,
): Promise<Partial<Precaution> & Pick<Candidate, 'outcome'>> {
  let found: Partial<Precaution> & Pick<Candidate, 'outcome'> = { outcome: candidate.outcome };
  for (const row of PRECAUTIONS) {
    if (!isAsked(row) || !row.on.includes(found.outcome.kind)) continue;
    const held = await row.check(tx, { ...candidate, outcome: found.outcome });
    if (held) found = { ...found, ...held };
  }
  return found;
}
