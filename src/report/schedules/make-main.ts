/** Main program of the process that makes a scheduled report (make-process.ts starts it). */

import { systemClock } from '../../lib/clock.ts';
import { toError } from '../../lib/errors.ts';
import { takeJob, writeAll } from '../../lib/process/job.ts';
import { describeRun } from '../document.ts';
import { makeFile, runReport } from '../make.ts';
import { requireOutput, writeOutput } from '../output-file.ts';
import type { Job, Outcome } from './make-process.ts';

async function make({ order, format, target }: Job): Promise<Outcome> {
  if (target !== null) requireOutput(target);
  const document = await runReport(order, systemClock());
  const content = await makeFile(document, format);
  if (target === null) await writeAll(process.stdout, content);
  else writeOutput(target, content);
  const { rows, notes } = document.table;
  return { rows: rows.length, about: describeRun(document), notes: [...notes] };
}

const job = await takeJob<Job>();
const outcome = await make(job).catch(
  (thrown: unknown): Outcome => ({ failed: toError(thrown).message }),
);
await writeAll(process.stderr, `${JSON.stringify(outcome)}\n`);
