/** Main program of the process that makes a scheduled report (make-process.ts starts it). */
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { text } from 'node:stream/consumers';
import { systemClock } from '../../lib/clock.ts';
import { toError } from '../../lib/errors.ts';
import { describeRun } from '../document.ts';
import { makeFile, runReport } from '../make.ts';
import { requireOutput, writeOutput } from '../output-file.ts';
import type { Job, Outcome } from './make-process.ts';

async function write(stream: NodeJS.WriteStream, content: string | Buffer): Promise<void> {
  if (!stream.write(content)) await once(stream, 'drain');
}

async function make({ order, format, target }: Job): Promise<Outcome> {
  if (target !== null) requireOutput(target);
  const document = await runReport(order, systemClock());
  const content = await makeFile(document, format);
  if (target === null) await write(process.stdout, content);
  else writeOutput(target, content);
  const { rows, notes } = document.table;
  return { rows: rows.length, about: describeRun(document), notes: [...notes] };
}

// Gives the daemon precedence on the processor.
setPriority(constants.priority.PRIORITY_LOW);
// The input comes from make-process.ts in the same type, so it is not checked.
const job: Job = JSON.parse(await text(process.stdin));
const outcome = await make(job).catch(
  (thrown: unknown): Outcome => ({ failed: toError(thrown).message }),
);
await write(process.stderr, `${JSON.stringify(outcome)}\n`);
