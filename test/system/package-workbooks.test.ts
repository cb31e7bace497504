/** Workbooks of reports in LibreOffice, which takes too much room for the system tests. */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../support/store.ts';
import { areThere } from './programs.ts';
import { makeBooks } from './workbooks/books.ts';
import { readByAll } from './workbooks/readers.ts';

it.skipIf(!areThere('soffice', 'pdftotext'))(
  'LibreOffice keeps all values, and prints titles on each page',
  async () => {
    const folder = temporaryFolder();
    const [npm, saved] = [join(folder, 'npm'), join(folder, 'saved')];
    for (const one of [npm, saved]) mkdirSync(one);
    const books = await makeBooks(folder);
    const paths = books.map(({ path }) => path);
    const convert = (to: string, files: readonly string[]) =>
      execFileSync('soffice', ['--headless', '--convert-to', to, '--outdir', saved, ...files], {
        env: { ...process.env, HOME: folder },
        stdio: 'pipe',
      });
    convert('xlsx', paths);
    const again = paths.map((path) => join(saved, basename(path)));
    const read = readByAll(npm, [...paths, ...again]).get('exceljs');
    for (const [at, path] of paths.entries()) {
      expect(read?.get(again[at] ?? ''), path).toEqual(read?.get(path));
    }
    const [long] = [...books].sort((a, b) => b.rows - a.rows);
    convert('pdf', [long?.path ?? '']);
    const pdf = join(saved, `${long?.name}.pdf`);
    const text = execFileSync('pdftotext', ['-layout', pdf, '-'], { encoding: 'utf8' });
    const pages = text.split('\f').filter((page) => page.trim() !== '');
    expect(pages.length).toBeGreaterThan(1);
    for (const page of pages) for (const name of long?.columns ?? []) expect(page).toContain(name);
  },
);
