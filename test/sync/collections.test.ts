/** Collections of V2 that are told in pages, and what a page leaves out. */
import { describe, expect, it } from 'vitest';
import { createPdmStream } from '../../src/sync/streams/pdm.ts';
import { FUSE, startPull } from './support.ts';

const PATH = '*/pdm/colors';
/** The next answer loses all its rows; its links stay what they were. */
const EMPTIED = { kind: 'emptyList', path: PATH, probability: 1, count: 1 };
/** As often as a request is made before the run is put off. */
const BROKEN = { kind: 'serverError', path: PATH, probability: 1, count: 5 };

async function startColors(follow: 'token' | 'links') {
  const pull = await startPull({ world: { styles: 8, orders: 0 } }, { follow, resourceRows: 7 });
  const colors = createPdmStream(pull.v2, 'colors', FUSE);
  expect(await pull.run(colors)).toMatchObject({ outcome: 'complete' });
  const deleted = async () => {
    const { db } = pull.store;
    return db.selectFrom('change').select('key').where('op', '=', 'delete').execute();
  };
  return { ...pull, colors, deleted };
}

describe('a page that lost rows', () => {
  it('proves nothing when the links lead past them', async () => {
    const { reference, run, colors, deleted } = await startColors('links');
    reference.knobs.patch({ faults: [EMPTIED] });
    expect(await run(colors)).toMatchObject({
      outcome: 'partial',
      reason: expect.stringContaining('skipped'),
    });
    expect(await deleted()).toEqual([]);
    expect(await run(colors)).toMatchObject({ outcome: 'complete', changed: 0 });
  });

  it('is not forgotten when the run is cut off behind it', async () => {
    const { reference, run, colors, deleted } = await startColors('links');
    reference.knobs.patch({ faults: [EMPTIED, BROKEN] });
    expect(await run(colors)).toMatchObject({ outcome: 'interrupted' });
    expect(await run(colors)).toMatchObject({
      outcome: 'partial',
      reason: expect.stringContaining('skipped'),
    });
    expect(await deleted()).toEqual([]);
  });

  it('is asked for again where places are counted', async () => {
    const { reference, run, colors, deleted } = await startColors('token');
    reference.knobs.patch({ faults: [EMPTIED] });
    expect(await run(colors)).toMatchObject({ outcome: 'complete', changed: 0 });
    expect(await deleted()).toEqual([]);
  });
});
