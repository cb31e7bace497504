/** The rooms' own steps for a moved clock, old rows and a restore, in one list each. */
import type { Config } from '../config/schema.ts';
import { decisionsClockStep, disarmAll } from '../decisions/upkeep.ts';
import { deleteOldEvents } from '../inbox/upkeep.ts';
import { deleteOldChanges, mirrorClockStep } from '../mirror/upkeep.ts';
import { markPushesUnknown, outboxClockStep } from '../outbox/upkeep.ts';
import { deleteOldIncidents } from '../store/incidents.ts';
import type { ClockStepHandler, RestoreSteps, RetentionStep } from '../store/upkeep.ts';
import { deleteOldRuns, requestFullPulls, syncClockStep } from '../sync/upkeep.ts';

export const CLOCK_STEPS: readonly ClockStepHandler[] = [
  syncClockStep,
  decisionsClockStep,
  outboxClockStep,
  mirrorClockStep,
];

export const RESTORE_STEPS: RestoreSteps = { markPushesUnknown, disarmAll, requestFullPulls };

/**
 * Only these rows ever go: decisions, their facts, pushes with their references, and the audit stay
 * for ever, because they prove what was done and keep a reference from being sent twice.
 */
export function retentionSteps(keep: Config['store']['retention']): readonly RetentionStep[] {
  return [
    { keepMs: keep.changes, deleteOld: deleteOldChanges },
    { keepMs: keep.events, deleteOld: deleteOldEvents },
    { keepMs: keep.runs, deleteOld: deleteOldRuns },
    { keepMs: keep.incidents, deleteOld: deleteOldIncidents },
  ];
}
