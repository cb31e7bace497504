/** What docs/reporting-elsewhere.md has other programs read, and the blocks that it shows. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { systemClock } from '../../../src/lib/clock.ts';
import { makeFile, runReport } from '../../../src/report/make.ts';
import { bindParameters } from '../../../src/report/parameters.ts';
import { readReports } from '../../../src/report/report-file.ts';
import { publishSnapshot } from '../../../src/report/snapshot.ts';
import { insertSeasonOfTrade } from '../../report/trade/season.ts';
import { repositoryRoot } from '../../support/source.ts';
import { placeDatabase } from '../../support/store.ts';

/** Values that programs like to take for others, in columns as those of `ats`. */
const GOODS = `/*
title: Goods
formats: { amount: amount }
*/ SELECT '0012' AS style_no, 'August' AS delivery_name, NULL AS season_name, 'a' AS color_name,
  'b' AS size, 'c' AS brand_name, 1 AS packed, '0570018000002' AS barcode, -7 AS ats, 12.5 AS amount
UNION ALL SELECT '0007', 'May', NULL, 'a', 'b', 'c', 0, '5700180000017', 3, -1000`;

/** Writes ats.csv, ats.ndjson and fashion.db into the folder. */
export async function makeFiles(folder: string): Promise<void> {
  const path = join(folder, 'mirror.db');
  placeDatabase(path);
  const clock = systemClock();
  const database = new Database(path);
  insertSeasonOfTrade(database, clock.now());
  database.close();
  const store = { path, busyTimeoutMs: 5_000 };
  publishSnapshot(store, join(folder, 'fashion.db'));
  writeFileSync(join(folder, 'goods.sql'), GOODS);
  const report = readReports(folder).reports.find(({ name }) => name === 'goods');
  if (report === undefined) throw new Error('no report');
  const document = await runReport(
    {
      report,
      values: bindParameters(report, {}, clock),
      manner: { locale: undefined, timeZone: 'Europe/Copenhagen' },
      rowsMax: 100,
      timeMaxMs: 60_000,
      store,
    },
    clock,
  );
  for (const format of ['csv', 'ndjson'] as const) {
    writeFileSync(join(folder, `ats.${format}`), await makeFile(document, format));
  }
}

/** Lines of the first block of the page that begins so. */
export function blockOf(start: string): readonly string[] {
  const page = readFileSync(join(repositoryRoot, 'docs/reporting-elsewhere.md'), 'utf8');
  const blocks = page.split(/^```(?:sh|text)\n/m).map((part) => part.split(/^```$/m)[0] ?? '');
  const text = blocks.find((block) => block.startsWith(start));
  if (text === undefined) throw new Error(`the page has no block "${start}"`);
  return text.trimEnd().split('\n');
}
