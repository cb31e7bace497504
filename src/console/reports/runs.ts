/**
 * Makes reports for the console in processes of their own, with the limits of scheduled reports:
 * the console's thread neither reads their rows nor writes workbooks, and stays free for other
 * pages.
 */

import { z } from 'zod';
import { RetryLaterError } from '../../lib/errors.ts';
import { programUrl } from '../../lib/process/program-url.ts';
import type { Format } from '../../report/formats.ts';
import type { Order } from '../../report/make.ts';
import { COLUMN_KINDS } from '../../report/report-head.ts';
import { type Made, makeInProcess } from '../../report/schedules/make-process.ts';

/** Formats that the console makes; `page`: table and chart rows of a console page. */
export type ConsoleFormat = Extract<Format, 'csv' | 'json' | 'xlsx' | 'html'> | 'page';

export interface ConsoleJob {
  readonly order: Order;
  readonly format: ConsoleFormat;
  readonly target: null;
  /** Whether names and addresses are masked before anything is made of the rows. */
  readonly isMasked: boolean;
}

const cell = z.union([z.string(), z.number(), z.null()]);
const rows = z.array(z.array(cell));

/** Schema of the content in the format `page`. */
export const pageContent = z.object({
  table: z.object({
    columns: z.array(
      z.object({
        name: z.string(),
        heading: z.string(),
        kind: z.enum(COLUMN_KINDS),
        isPivoted: z.boolean(),
      }),
    ),
    rows,
    totals: rows,
    notes: z.array(z.string()),
    caption: z.string().optional(),
    spans: z.array(z.number()),
    shaded: z.array(z.number()).optional(),
  }),
  given: z.object({ columns: z.array(z.string()), rows }),
  at: z.number(),
});

/** Most reports that are made at once, because each takes a core and up to a gigabyte. */
const RUNS_MAX = 2;
const PROGRAM = programUrl(import.meta.url, 'report-main');

export interface ReportRuns {
  /** Makes a report. Throws RetryLaterError while too many run, or the report's error. */
  make(job: ConsoleJob, signal: AbortSignal): Promise<Made>;
  /** Ends all reports that are being made. */
  end(): void;
}

export function createReportRuns(): ReportRuns {
  const ended = new AbortController();
  let running = 0;
  return {
    async make(job, signal) {
      if (running >= RUNS_MAX) {
        const message = `${RUNS_MAX} reports are being made already`;
        throw new RetryLaterError('report.busy', message, { hint: 'try again in a moment' });
      }
      running += 1;
      try {
        return await makeInProcess(job, AbortSignal.any([signal, ended.signal]), PROGRAM);
      } finally {
        running -= 1;
      }
    },
    end: () => ended.abort(),
  };
}
