/** A workbook of each shipped report, of a season of trade, and one of strange signs. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { systemClock } from '../../../src/lib/clock.ts';
import { makeFile, runReport } from '../../../src/report/make.ts';
import { bindParameters } from '../../../src/report/parameters.ts';
import { type Report, readReports } from '../../../src/report/report-file.ts';
import { readable } from '../../../src/report/words/readable.ts';
import { insertSeasonOfTrade } from '../../report/trade/season.ts';
import { placeDatabase } from '../../support/store.ts';

const STRANGE = `/*
title: Strange signs
formats: { share: percent, amount: amount }
totals: [amount]
*/ SELECT '_x0041_' AS code,
  'navy' || char(11) || 'blue' || char(1) || char(13, 10) || 'dark' AS soft,
  '1899-12-31' AS day, '2026-01-05' AS later, '2026-01-05T23:30:07Z' AS at, '=1+1' AS formula,
  '5700180000017' AS barcode, '  🧵 <&>"''  ' AS outer,
  0.35 AS share, 1.005 AS amount, NULL AS absent
UNION ALL SELECT 'x', 'y', 'z', '2026-02-28', '2026-07-05T00:00:00Z', '+1', '0', '',
  -64.15, -2.675, 1`;

/** Of several pages, when it is printed. */
const MANY = `/*
title: Many rows
*/ WITH RECURSIVE n(place) AS (SELECT 1 UNION ALL SELECT place + 1 FROM n WHERE place < 200)
SELECT place, 'row ' || place AS named FROM n`;

export interface Book {
  readonly path: string;
  readonly name: string;
  /** Rows of the table, without those of totals and remarks. */
  readonly rows: number;
  readonly columns: readonly string[];
}

/** Values for parameters that have no default. */
const GIVEN: Readonly<Record<string, string>> = { style: 'S-1', season: 'SS26' };

export async function makeBooks(folder: string): Promise<readonly Book[]> {
  const path = join(folder, 'mirror.db');
  placeDatabase(path);
  const clock = systemClock();
  const database = new Database(path);
  insertSeasonOfTrade(database, clock.now());
  database.close();
  writeFileSync(join(folder, 'strange-signs.sql'), STRANGE);
  writeFileSync(join(folder, 'many-rows.sql'), MANY);
  const books: Book[] = [];
  for (const report of readReports(folder).reports) {
    const document = await runReport(
      {
        report,
        values: bindParameters(report, given(report), clock),
        manner: { locale: undefined, timeZone: 'Europe/Copenhagen' },
        rowsMax: 10_000,
        timeMaxMs: 60_000,
        store: { path, busyTimeoutMs: 5_000 },
      },
      clock,
    );
    const book = join(folder, `${report.name}.xlsx`);
    writeFileSync(book, await makeFile(document, 'xlsx'));
    const { rows, columns } = readable(document);
    const names = columns.map(({ heading }) => heading);
    books.push({ path: book, name: report.name, rows: rows.length, columns: names });
  }
  return books;
}

function given({ params }: Report): Record<string, string> {
  const asked = Object.entries(params).filter(([, one]) => one.default === undefined);
  return Object.fromEntries(asked.map(([name]) => [name, GIVEN[name] ?? '']));
}
