/**
 * Runs the checks of the doctor that leave the network alone for a daemon that goes on: in a
 * process of its own, because a check of every page of the database would make the loop wait, and
 * because a process that closes a file of a database loses its own locks on it.
 */

import type { ConfigProblem } from '../../config/problems.ts';
import type { Config } from '../../config/schema.ts';
import { doctorFindings } from '../../console/operations/wishes.ts';
import type { Clock } from '../../lib/clock.ts';
import { RetryLaterError } from '../../lib/errors.ts';
import { tryParseJson } from '../../lib/json.ts';
import { runBeside } from '../../lib/process/beside.ts';
import { programUrl } from '../../lib/process/program-url.ts';
import type { Finding } from './finding.ts';

/** Input of that process; secrets are in it as their names only. */
export interface DoctorRequest {
  readonly config: Config;
  readonly warnings: readonly ConfigProblem[];
  readonly now: number;
}

/** A whole check of a large database takes a while. */
const RUN_MS_MAX = 120_000;
const MEMORY_BYTES_MAX = 536_870_912;
const HEAP_MIB_MAX = 128;

/** Throws RetryLaterError when the process dies or takes longer than two minutes. */
async function examineBeside(request: DoctorRequest, clock: Clock): Promise<readonly Finding[]> {
  const beside = {
    program: programUrl(import.meta.url, 'doctor-main'),
    request,
    timeMaxMs: RUN_MS_MAX,
    memoryBytesMax: MEMORY_BYTES_MAX,
    heapMibMax: HEAP_MIB_MAX,
  };
  let found: readonly Finding[] | undefined;
  await runBeside(beside, clock, (line) => {
    found = doctorFindings.safeParse(tryParseJson(line)).data;
  });
  if (found) return found;
  throw new RetryLaterError('doctor.died', 'the checks ended before they were through', {
    hint: 'selvedge doctor --offline',
  });
}

/** Findings are given again for so long: pages and their twins ask one after the other. */
const FRESH_MS = 5_000;

/** Gives the same findings to all who ask at the same time, or right afterwards. */
export function createDoctor(
  given: Omit<DoctorRequest, 'now'>,
  clock: Clock,
): () => Promise<readonly Finding[]> {
  let running: Promise<readonly Finding[]> | undefined;
  const forget = (): void => {
    running = undefined;
  };
  return () => {
    if (running) return running;
    const begun = examineBeside({ ...given, now: clock.now() }, clock);
    running = begun;
    begun.then(() => clock.after(FRESH_MS, forget), forget);
    return begun;
  };
}
