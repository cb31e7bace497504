/** `kill -9` of a real daemon while a foreign client inserts and files drop in. */
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { pauseFile } from '../../../src/store/pauses.ts';
import { foreignSql, startForeignClient } from '../../support/foreign-sql.ts';
import { until } from '../../support/house.ts';
import { temporaryFolder } from '../../support/store.ts';
import { createDaemonProcess, startFastReference } from '../support.ts';
import { STREAMS } from './house.ts';

const ROWS = 120;
const FILES = 12;
const PER_FILE = 5;
const KILLS = 3;

function payload(quantity: number): string {
  return JSON.stringify({ lines: [{ barcode: '5700000000017', quantity, price: '19.95' }] });
}

it('loses no document and takes none twice, whenever it is killed', async () => {
  const reference = await startFastReference({ world: { styles: 1, orders: 0 } });
  const shared = temporaryFolder();
  const [database, inbox] = [join(shared, 'exchange.db'), join(shared, 'in')];
  const daemon = await createDaemonProcess(reference, {
    settings: [
      `intake: { database: ${database}, folder: { path: ${inbox}, settle: 0s } }`,
      `streams: { off: [${STREAMS.join(', ')}] }`,
    ],
  });
  // A taken document stays where it is: the sending is another test's matter.
  writeFileSync(pauseFile(daemon.dataDir, 'pushes'), 'a test');
  await daemon.start();
  await until(
    'the doors',
    () => (existsSync(join(inbox, 'done')) && existsSync(database)) || undefined,
  );
  const client = startForeignClient(database);
  let complaints = '';
  client.stderr.on('data', (chunk: Buffer) => {
    complaints += chunk.toString();
  });
  const inserts = Array.from({ length: ROWS }, (_, index) => {
    // Every third row is the one before once more.
    const number = index % 3 === 2 ? index - 1 : index;
    const values = `'order', 'SQL-${number}', '${payload(1 + (number % 5))}'`;
    return `INSERT INTO intake(kind, reference, payload) VALUES (${values});`;
  });
  client.stdin.end(`${inserts.join('\n')}\n`);
  const written = once(client, 'exit');
  for (let file = 0; file < FILES; file += 1) {
    const lines = Array.from({ length: PER_FILE }, (_, line) =>
      JSON.stringify({
        kind: 'order',
        reference: `FILE-${file}-${line}`,
        payload: JSON.parse(payload(1)),
      }),
    );
    writeFileSync(join(inbox, `.${file}.tmp`), lines.join('\n'));
    renameSync(join(inbox, `.${file}.tmp`), join(inbox, `f-${file}.json`));
  }
  const random = seededRandom(11);
  for (let kill = 0; kill < KILLS; kill += 1) {
    await systemClock().sleep(random.int(20, 400));
    await daemon.kill();
    await daemon.start();
  }
  await written;
  expect(complaints).toBe('');
  const sql = (text: string): string => foreignSql(database, text).trim();
  await until(
    'all rows',
    () => sql("SELECT 1 FROM receipt WHERE state = 'waiting' LIMIT 1") === '' || undefined,
  );
  await until(
    'all files',
    () => readdirSync(join(inbox, 'done')).length === 2 * FILES || undefined,
  );
  const distinct = ROWS - ROWS / 3;
  expect(daemon.query('select count(*), count(distinct reference) from outbox')).toEqual([
    [String(distinct + FILES * PER_FILE), String(distinct + FILES * PER_FILE)],
  ]);
  expect(sql('SELECT count(*), count(DISTINCT document_id) FROM receipt WHERE intake_id > 0')).toBe(
    `${ROWS}|${distinct}`,
  );
  for (let file = 0; file < FILES; file += 1) {
    const text = readFileSync(join(inbox, 'done', `f-${file}.json.receipt.json`), 'utf8');
    expect(text.match(/"documentId": \d+/g)).toHaveLength(PER_FILE);
  }
  expect(sql('PRAGMA integrity_check')).toBe('ok');
  expect(daemon.query('pragma integrity_check')).toEqual([['ok']]);
});
