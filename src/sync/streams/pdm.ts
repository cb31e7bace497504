/**
 * Streams of V2's collections. The token of the first page pins the rows, so that they should not
 * shift between pages; an expired token restarts the run. Only mirrored fields are requested, and
 * no related resources: those have streams of their own. The head of `config/lists.ts` names all
 * places of a new one.
 */

import { driftOfIncluded } from '../../client/drift.ts';
import type { V2Client } from '../../client/v2/client.ts';
import type { V2Page } from '../../client/v2/pages.ts';
import { modelledFields } from '../../client/v2/resources.ts';
import { canonicalJson } from '../../lib/json.ts';
import { digestOf } from '../../lib/json-rows/known.ts';
import { PDM, type PdmStream } from '../../mirror/catalog/pdm.ts';
import { countsIn, type DeletionGuard, doubtsIn, type Stream } from '../stream.ts';

/** Findings of a pull, which its checkpoint keeps and a resumed attempt extends. */
interface Findings {
  /** Arguments against the pull's completeness, as messages. */
  readonly doubts: string[];
  /** Drift of the documents around the rows: number of occurrences by name. */
  readonly drift: Record<string, number>;
}

function noteFindings(
  { doubts, drift }: Findings,
  page: Pick<V2Page<unknown>, 'doubts' | 'included'>,
): void {
  // Each doubt is noted once, because every page stores all of them.
  doubts.push(...page.doubts.filter((doubt) => !doubts.includes(doubt)));
  for (const [what, times] of driftOfIncluded(page.included)) {
    drift[what] = (drift[what] ?? 0) + times;
  }
}

export function createPdmStream(
  v2: Pick<V2Client, 'collection'>,
  name: PdmStream,
  deletionGuard: DeletionGuard,
): Stream {
  const entity = PDM[name];
  const { type } = entity;
  const fields = { [type]: modelledFields(type) };
  return {
    name,
    options: { fields: [...modelledFields(type)] },
    list: { entity, deletionGuard, isPaged: false, isLong: false },
    async pull({ run, listPage, call }) {
      const { next, offset: start, done } = run.checkpoint;
      const from = typeof next === 'string' ? next : undefined;
      let offset = typeof start === 'number' ? start : 0;
      const findings: Findings = {
        doubts: doubtsIn(run.checkpoint),
        drift: countsIn(run.checkpoint.drift),
      };
      let pages = 0;
      if (done !== true) {
        for await (const page of v2.collection(type, { fields }, { ...call, from })) {
          const rowCount = page.rows.length + page.rejects.length;
          const digest = digestOf(canonicalJson([page.rows, page.rejects]));
          pages += 1;
          noteFindings(findings, page);
          const chunk = { firstRow: offset, rowCount, digest, read: () => page };
          offset += rowCount;
          const place = page.next === undefined ? { done: true } : { next: page.next };
          const chunks = rowCount === 0 ? [] : [chunk];
          await listPage({ ...place, offset, ...structuredClone(findings) }, entity, chunks);
        }
      }
      const { doubts } = findings;
      // The token pins the rows only if the service keeps to the contract, which cannot be checked.
      return { expectedRows: offset, doubts, canSlip: pages > 1, parts: new Map([['', offset]]) };
    },
  };
}
