import { describe, expect, it } from 'vitest';
import { EXIT } from '../../src/lib/errors.ts';
import { temporaryFolder } from '../support/store.ts';
import { reportHouse } from './support.ts';

describe('a report on the plane', () => {
  it('is refused without a plane, with the page that says how to have one', async () => {
    const { report } = reportHouse(temporaryFolder());
    const { code, stderr } = await report('run', 'freshness', '--on', 'plane');
    expect(code).toBe(EXIT.config.code);
    expect(stderr).toContain('plane.url is not set');
    expect(stderr).toContain('docs/operating/plane.md');
  });

  it('is one of those that come along: one of your own is SQL for SQLite', async () => {
    // Nothing listens there, and nothing is asked.
    const it = reportHouse(temporaryFolder(), ['plane: { url: { env: KEY_TO_PLANE } }']);
    it.write('mine', 'title: Mine', 'select 1 as one');
    const { code, stderr } = await it.report('run', 'mine', '--on', 'plane');
    expect(code).toBe(EXIT.failure.code);
    expect(stderr).toContain('is a report of your own, which is SQL for SQLite');
  });

  it('has accounts, which the mirror has not', async () => {
    const { report } = reportHouse(temporaryFolder());
    const { code, stderr } = await report('run', 'freshness', '--account', 'all');
    expect(code).toBe(EXIT.usage.code);
    expect(stderr).toContain('add --on plane');
  });
});
