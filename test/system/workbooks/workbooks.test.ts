/** Workbooks of reports, in the programs that read them. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../support/store.ts';
import { makeBooks } from './books.ts';
import { readByAll } from './readers.ts';

it('a workbook of any report has the same values in exceljs, SheetJS and openpyxl', async () => {
  const folder = temporaryFolder();
  const npm = join(folder, 'npm');
  mkdirSync(npm);
  const books = await makeBooks(folder);
  const readers = readByAll(
    npm,
    books.map(({ path }) => path),
  );
  expect(books.filter(({ rows }) => rows > 0).length).toBeGreaterThan(15);
  for (const { path, name, rows, columns } of books) {
    const [first, ...others] = [...readers].map(([reader, books]) => [reader, books.get(path)]);
    const [, read] = first ?? [];
    for (const [reader, other] of others) expect(other, `${name}, ${reader}`).toEqual(read);
    const { cells, titles } = Object(read);
    expect([titles, cells[2]], name).toEqual(['3:3', columns.map((column) => `s ${column}`)]);
    expect(cells.length, name).toBeGreaterThanOrEqual(3 + rows);
  }
  const strange = books.find(({ name }) => name === 'strange-signs')?.path ?? '';
  for (const [reader, read] of readers) {
    expect(read.get(strange)?.cells.slice(3, 6), reader).toEqual([
      [
        ...['s _x0041_', 's navy\nblue \ndark', 's 1899-12-31', 'd 2026-01-05T00:00:00'],
        ...['d 2026-01-06T00:30:07', 's =1+1', 's 5700180000017', `s   🧵 <&>"'  `],
        ...['n 0.0035', 'n 1.005'],
      ],
      [
        ...['s x', 's y', 's z', 'd 2026-02-28T00:00:00', 'd 2026-07-05T02:00:00', 's +1', 's 0'],
        ...[null, 'n -0.6415', 'n -2.675', 'n 1'],
      ],
      ['s Total', null, null, null, null, null, null, null, null, 'n -1.67'],
    ]);
  }
});
