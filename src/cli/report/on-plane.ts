/** Reads a report's rows from the plane: of this account, of another one, or of all. */
import type { Config } from '../../config/schema.ts';
import { planeAccount, planeAddress } from '../../ops/plane-copy.ts';
import { openPlaneSession } from '../../plane/reader.ts';
import type { Order, RunRows } from '../../report/make.ts';
import { reportOfAll, runOnPlane } from '../../report/plane.ts';
import { planeSqlOf } from '../../report/report-file.ts';

/** A report as it is run, and the function that reads its rows. */
export interface Job extends Pick<Order, 'report' | 'values' | 'manner' | 'rowsMax'> {
  readonly rows: RunRows;
}

const ALL = 'all';

export function jobOnPlane(config: Config, order: Order, named?: string): Job {
  const { report, values, rowsMax, timeMaxMs } = order;
  const { schema } = config.plane;
  const query = { params: report.params, sql: planeSqlOf(report), values, rowsMax };
  const url = planeAddress(config);
  const account = named === ALL ? null : (named ?? planeAccount(config));
  return {
    ...order,
    report: account === null ? reportOfAll(report) : report,
    async rows(sink) {
      const session = await openPlaneSession({ url, schema, timeMaxMs });
      try {
        return await runOnPlane(session, { ...query, account }, sink);
      } finally {
        await session.end();
      }
    },
  };
}
