/**
 * Streams of V2's collections. The token of the first page pins the rows, so that they do not
 * shift between pages; a token that has expired starts the run over. Only what is mirrored is
 * asked for, and nothing is included: related resources are streams of their own.
 */
import type { V2Client } from '../../client/v2/client.ts';
import { modelledFields, type ResourceType } from '../../client/v2/resources.ts';
import { canonicalJson } from '../../lib/json.ts';
import { PDM } from '../../mirror/catalog/pdm.ts';
import { digestOf } from '../../mirror/list.ts';
import type { Fuse, Stream } from '../stream.ts';

export type PdmStream = keyof typeof PDM;

const TYPES: Readonly<Record<PdmStream, ResourceType>> = {
  styles: 'style',
  styleColors: 'styleColor',
  colors: 'color',
  pdmBrands: 'brand',
  types: 'type',
  genders: 'gender',
  countries: 'country',
};

export function createPdmStream(
  v2: Pick<V2Client, 'collection'>,
  name: PdmStream,
  fuse: Fuse,
): Stream {
  const entity = PDM[name];
  const type = TYPES[name];
  const fields = { [type]: modelledFields(type) };
  return {
    name,
    options: { fields: [...modelledFields(type)] },
    list: { entity, fuse, isPaged: false, isLong: false },
    async pull({ run, listPage, call }) {
      const { next, offset: start, done, doubts: told } = run.checkpoint;
      const from = typeof next === 'string' ? next : undefined;
      let offset = typeof start === 'number' ? start : 0;
      // An attempt before this one may have met some.
      const doubts: string[] = Array.isArray(told) ? told.map(String) : [];
      if (done !== true) {
        const pull = v2.collection(type, { fields }, { ...call, from });
        for await (const page of pull.pages) {
          const rowCount = page.rows.length + page.rejects.length;
          const digest = digestOf(canonicalJson([page.rows, page.rejects]));
          // The page before announced it.
          if (rowCount === 0 && offset > 0) doubts.push('a page that was announced is empty');
          if (page.skippedRows > 0) doubts.push(`${page.skippedRows} rows were skipped`);
          const segment = { firstRow: offset, rowCount, digest, read: () => page };
          offset += rowCount;
          const checkpoint = page.next === undefined ? { done: true } : { next: page.next };
          const segments = rowCount === 0 ? [] : [segment];
          await listPage({ ...checkpoint, offset, doubts: [...doubts] }, '', entity, segments);
        }
      }
      return { expectedRows: offset, doubts, parts: new Map([['', offset]]) };
    },
  };
}
