/** The stream `brands`: one short list. */
import type { V1Client } from '../../client/v1/client.ts';
import { writeBrands } from '../../mirror/brand.ts';
import { quarantineRows } from '../../mirror/quarantine.ts';
import type { Stream } from '../stream.ts';

export function createBrandsStream(v1: Pick<V1Client, 'brands'>): Stream {
  return {
    name: 'brands',
    options: {},
    async pull({ page, signal }) {
      const list = await v1.brands({ signal, priority: 'pull' });
      await page({ done: true }, async (tx, provenance) => {
        const counts = await writeBrands(tx, list.rows, provenance);
        await quarantineRows(tx, 'brand', list.rejects, provenance);
        return {
          rows: list.rows.length + list.rejects.length,
          changed: counts.inserted + counts.changed,
          unchanged: counts.unchanged,
          quarantined: list.rejects.length,
          bytes: 0,
        };
      });
      return { expectedRows: list.count, doubts: [] };
    },
  };
}
