/**
 * Runs the checks of the doctor that leave the network alone for a daemon that goes on: in a
 * process of its own, because a check of every page of the database would make the loop wait, and
 * because a process that closes a file of a database loses its own locks on it.
 */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { ConfigProblem } from '../../config/problems.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../lib/clock.ts';
import { RetryLaterError } from '../../lib/errors.ts';
import { tryParseJson } from '../../lib/json.ts';
import type { Finding } from './finding.ts';

/** Input of that process; secrets are in it as their names only. */
export interface DoctorRequest {
  readonly config: Config;
  readonly warnings: readonly ConfigProblem[];
  readonly now: number;
}

const findings = z.array(
  z.object({
    check: z.string(),
    grade: z.enum(['ok', 'warning', 'failed', 'skipped']),
    text: z.string(),
    advice: z.string().optional(),
  }),
);

/** A whole check of a large database takes a while. */
const RUN_MS_MAX = 120_000;
const HEAP_MIB_MAX = 128;

/** Beside this file: `.ts` in a checkout, `.js` in the package. */
function entry(): string {
  const suffix = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return fileURLToPath(new URL(`./doctor-main.${suffix}`, import.meta.url));
}

/** Throws RetryLaterError when the process dies or takes longer than two minutes. */
async function examineBeside(request: DoctorRequest, clock: Clock): Promise<readonly Finding[]> {
  // No more of ours: secrets may stand in it.
  const { TZ, LD_LIBRARY_PATH, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [`--max-old-space-size=${HEAP_MIB_MAX}`, entry()], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { TZ, LD_LIBRARY_PATH, NODE_COMPILE_CACHE },
  });
  const over = new AbortController();
  clock.sleep(RUN_MS_MAX, over.signal).then(
    () => child.kill('SIGKILL'),
    () => undefined,
  );
  try {
    child.stdin.end(JSON.stringify(request));
    const found = findings.safeParse(tryParseJson(await text(child.stdout)));
    if (found.success) return found.data;
    throw new RetryLaterError('doctor.died', 'the checks ended before they were through', {
      hint: 'selvedge doctor --offline',
    });
  } finally {
    over.abort();
    child.kill('SIGKILL');
  }
}

/** Findings are given again for so long: pages and their twins ask one after the other. */
const FRESH_MS = 5_000;

/** Those who ask at the same time, or right afterwards, get the same findings. */
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
