/** Main program of the process that makes a report for the console (runs.ts starts it). */
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { text } from 'node:stream/consumers';
import { systemClock } from '../../lib/clock.ts';
import { toError } from '../../lib/errors.ts';
import { describeRun } from '../../report/document.ts';
import { makeFile, runReport } from '../../report/make.ts';
import type { Outcome } from '../../report/schedules/make-process.ts';
import { readable } from '../../report/words/readable.ts';
import { maskRows } from './mask-rows.ts';
import type { ConsoleJob } from './runs.ts';

async function write(stream: NodeJS.WriteStream, content: string | Buffer): Promise<void> {
  if (!stream.write(content)) await once(stream, 'drain');
}

async function make({ order, format, isMasked }: ConsoleJob): Promise<Outcome> {
  const { report } = order;
  const document = await runReport(order, systemClock(), (given) =>
    isMasked ? maskRows(report, given) : given,
  );
  const { table, at } = document;
  // Only the chart needs the rows as the SELECT returned them.
  const given = report.chart ? document.given : { columns: [], rows: [] };
  const content =
    format === 'page'
      ? JSON.stringify({ table: readable(document), given, at })
      : await makeFile(document, format);
  await write(process.stdout, content);
  return { rows: table.rows.length, about: describeRun(document), notes: [...table.notes] };
}

// Gives the daemon precedence on the processor.
setPriority(constants.priority.PRIORITY_LOW);
// The input comes from runs.ts in the same type, so it is not checked.
const job: ConsoleJob = JSON.parse(await text(process.stdin));
const outcome = await make(job).catch(
  (thrown: unknown): Outcome => ({ failed: toError(thrown).message }),
);
await write(process.stderr, `${JSON.stringify(outcome)}\n`);
