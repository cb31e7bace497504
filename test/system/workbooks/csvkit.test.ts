/** Lists and copies in csvkit, as docs/reporting-elsewhere.md shows it. */
import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../support/store.ts';
import { areThere } from '../programs.ts';
import { blockOf, makeFiles } from './elsewhere.ts';

it.skipIf(!areThere('csvlook', 'sql2csv'))(
  'csvkit keeps values by the manual, and else not',
  async () => {
    const cwd = temporaryFolder();
    await makeFiles(cwd);
    const run = (command: string): string[] =>
      execFileSync('sh', ['-c', command], { cwd, encoding: 'utf8', stdio: 'pipe' })
        .trimEnd()
        .split('\n');
    const [look = '', sorted = '', copy = '', ...more] = blockOf('csvlook');
    expect(more).toEqual([]);
    const cells = run(look).map((line) => line.split('|').map((cell) => cell.trim()));
    expect(cells[2]).toEqual([
      '',
      '0012',
      'August',
      '',
      'a',
      'b',
      'c',
      '1',
      '0570018000002',
      '-7',
      '12.50',
      '',
    ]);
    expect(run(sorted)).toEqual([
      'style_no,barcode,ats',
      '0007,5700180000017,3',
      '0012,0570018000002,-7',
    ]);
    const [head, ...rows] = run(copy);
    expect(head).toMatch(/^barcode,style_no,/);
    expect(rows.length).toBeGreaterThan(3);
    // What the page warns of.
    const [guessed] = JSON.parse(run('csvjson ats.csv').join(''));
    expect(guessed).toMatchObject({
      barcode: 570018000002,
      delivery_name: '0001-08-01',
      packed: true,
    });
  },
);
