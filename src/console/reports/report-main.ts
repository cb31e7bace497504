/** Main program of the process that makes a report for the console (runs.ts starts it). */

import { systemClock } from '../../lib/clock.ts';
import { toError } from '../../lib/errors.ts';
import { takeJob, writeAll } from '../../lib/process/job.ts';
import { describeRun } from '../../report/document.ts';
import { makeFile, runReport } from '../../report/make.ts';
import type { Outcome } from '../../report/schedules/make-process.ts';
import { readable } from '../../report/words/readable.ts';
import { maskRows } from './mask-rows.ts';
import type { ConsoleJob } from './runs.ts';

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
  await writeAll(process.stdout, content);
  return { rows: table.rows.length, about: describeRun(document), notes: [...table.notes] };
}

const job = await takeJob<ConsoleJob>();
const outcome = await make(job).catch(
  (thrown: unknown): Outcome => ({ failed: toError(thrown).message }),
);
await writeAll(process.stderr, `${JSON.stringify(outcome)}\n`);
