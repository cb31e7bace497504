/**
 * A script as a user would write it: fetch, JSON.parse, prepared upsert, one transaction. No
 * validation, no comparison, no history. `node plain-script.ts <folder> <service>`
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { DETAILS, MEMBERS } from './columns.ts';
import { startMeter } from './meters.ts';

const [folder = '', v1Url = ''] = process.argv.slice(2);

const meter = startMeter();
const database = new Database(join(folder, 'plain.db'));
database.pragma('journal_mode = wal');
database.pragma('synchronous = normal');
const columns = [...MEMBERS, ...DETAILS.map((name) => `details_${name}`)];
database.exec(`create table variant (${columns.join(', ')}, images, primary key (barcode))`);
const insert = database.prepare(
  `insert into variant values (${columns.map(() => '?').join(', ')}, ?)
   on conflict (barcode) do update set
   ${columns.map((name) => `${name} = excluded.${name}`).join(', ')}, images = excluded.images`,
);
const answer = await fetch(`${v1Url}/variants/stock?detailed=true`);
const { data } = JSON.parse(await answer.text());
database.transaction(() => {
  for (const row of data.variants) {
    const own = MEMBERS.map((name) => row[name] ?? null);
    const details = DETAILS.map((name) => row.details[name] ?? null);
    insert.run(...own, ...details, JSON.stringify(row.details.images));
  }
})();
database.close();
process.send?.({ changed: data.variants.length, ...meter.read() });
process.disconnect?.();
