/** The process that makes a report for the console (runs.ts starts it): the job on stdin. */
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { text } from 'node:stream/consumers';
import { systemClock } from '../../lib/clock.ts';
import { toError } from '../../lib/errors.ts';
import { describeRun } from '../../report/document.ts';
import { makeFile, runReport } from '../../report/make.ts';
import type { Outcome } from '../../report/schedules/make-process.ts';
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
  // Without a chart nobody needs the rows as they were.
  const given = report.chart ? document.given : { columns: [], rows: [] };
  const content =
    format === 'page' ? JSON.stringify({ table, given, at }) : await makeFile(document, format);
  await write(process.stdout, content);
  return { rows: table.rows.length, about: describeRun(document), notes: [...table.notes] };
}

// The daemon goes first.
setPriority(constants.priority.PRIORITY_LOW);
// From runs.ts beside it, which has the same type.
const job: ConsoleJob = JSON.parse(await text(process.stdin));
const outcome = await make(job).catch(
  (thrown: unknown): Outcome => ({ failed: toError(thrown).message }),
);
await write(process.stderr, `${JSON.stringify(outcome)}\n`);
