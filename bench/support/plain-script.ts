/**
 * What a user would write: fetch, JSON.parse, prepared upsert, one transaction. No validation, no
 * comparison, no history. `node plain-script.ts <folder> <service> <key>`
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import Database from 'better-sqlite3';

const [folder = '', v1Url = '', apiKey = ''] = process.argv.slice(2);
const MEMBERS = ['barcode', 'quantity', 'variantType', 'seasonName', 'colorCode', 'b2cSalePrice'];
MEMBERS.push('priceOriginal', 'wspPrice', 'careLabelWash', 'careLabelIron', 'careLabelDry');
const DETAILS = ['styleNo', 'brandName', 'styleName', 'colorName', 'size', 'price', 'currency'];
DETAILS.push('designer', 'category', 'quality', 'type', 'gender');

const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
const startedAt = performance.now();
const cpu = process.cpuUsage();
const database = new Database(join(folder, 'plain.db'));
database.pragma('journal_mode = wal');
database.pragma('synchronous = normal');
const columns = [...MEMBERS, ...DETAILS];
database.exec(`create table variant (${columns.join(', ')}, raw, primary key (barcode))`);
const insert = database.prepare(
  `insert into variant values (${columns.map(() => '?').join(', ')}, ?)
   on conflict (barcode) do update set
   ${columns.map((name) => `${name} = excluded.${name}`).join(', ')}, raw = excluded.raw`,
);
const headers = { 'x-service-authorization': apiKey };
const answer = await fetch(`${v1Url}/variants/stock?detailed=true`, { headers });
const { data } = JSON.parse(await answer.text());
database.transaction(() => {
  for (const row of data.variants) {
    const own = MEMBERS.map((name) => row[name] ?? null);
    const details = DETAILS.map((name) => row.details[name] ?? null);
    insert.run(...own, ...details, JSON.stringify(row.details.images));
  }
})();
database.close();
const used = process.cpuUsage(cpu);
const peakKiB = Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
process.send?.({
  seconds: (performance.now() - startedAt) / 1_000,
  cpuSeconds: (used.user + used.system) / 1e6,
  peakMiB: peakKiB / 1_024,
  delayP99Ms: delay.percentile(99) / 1e6,
});
process.disconnect?.();
