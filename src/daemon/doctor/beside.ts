/**
 * Runs those checks of the doctor that do without the network beside a running daemon: in a process
 * of its own, because checking every page of the database would block the event loop, and because a
 * process that closes a file of a database loses its own locks on it.
 */

import type { ConfigProblem } from '../../config/problems.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../lib/clock.ts';
import { RetryLaterError } from '../../lib/errors.ts';
import { tryParseJson } from '../../lib/json.ts';
import { runBeside } from '../../lib/process/beside.ts';
import { programUrl } from '../../lib/process/program-url.ts';
import { findingsSchema } from '../../ops/lists.ts';
import type { Finding } from './finding.ts';

/** Input of the process that runs the checks; of secrets it has only the names. */
export interface DoctorRequest {
  readonly config: Config;
  readonly warnings: readonly ConfigProblem[];
  readonly now: number;
}

/** Milliseconds that all checks may take; those of a large database are slow. */
const RUN_MS_MAX = 120_000;
const MEMORY_BYTES_MAX = 536_870_912;
const HEAP_MIB_MAX = 128;

/** Runs the checks in another process; throws RetryLaterError when it dies or is late. */
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
    found = findingsSchema.safeParse(tryParseJson(line)).data;
  });
  if (found) return found;
  throw new RetryLaterError('doctor.died', 'the checks ended before they were through', {
    hint: 'selvedge doctor --offline',
  });
}

/** Milliseconds for which findings are given again, to pages and twins alike. */
const FRESH_MS = 5_000;

/** Creates the doctor, which gives all who ask at nearly the same time the same findings. */
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
