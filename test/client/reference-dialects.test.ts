/** The same world through other dialects; reference-dialects.slow.test.ts has them all. */
import { describe, expect, it } from 'vitest';
import {
  expectSameWorld,
  expectTooFast,
  expectWritable,
  startDialect,
  worldOf,
} from './other-dialects.ts';
import { v1Client } from './v1-support.ts';

const REST = { emptyList: 'notFound', envelope: 'none' };
const OLD = { charset: 'windows-1252', contentEncoding: 'gzip', envelope: 'text' };

describe('an account that speaks otherwise', () => {
  it('tells the same', async () => {
    const expected = worldOf({});
    await expectSameWorld({ ...OLD, lists: 'indexed' }, expected);
    await expectSameWorld(REST, expected);
  });

  it('is written to, and its answers are clear', () => expectWritable(OLD));

  it('is asked again when it was asked too fast, which it says in HTML', () =>
    expectTooFast({ errorBody: 'html' }));

  it('has a cache that heeds nobody, and what comes out of it is as old as it says', async () => {
    const { rig, transport } = await startDialect({ cacheAge: '2h', cacheStubborn: true });
    const client = v1Client(rig, transport);
    const { startedAt } = await client.shortList('brands');
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(7_200_000);
    const heeded = await startDialect({ cacheAge: '2h' });
    const now = await v1Client(heeded.rig, heeded.transport).shortList('brands');
    expect(Date.now() - now.startedAt).toBeLessThan(60_000);
  });
});
