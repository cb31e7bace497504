/**
 * A program that reads a database again and again, each time slowly and to the end, with a busy
 * timeout of two seconds. Prints a line for each read, and one for each that failed.
 */
import { DatabaseSync } from 'node:sqlite';

const [path = ''] = process.argv.slice(2);
const database = new DatabaseSync(path, { timeout: 2_000 });
const query = database.prepare('SELECT reference, state FROM v_document LIMIT 20');
const pause = new Int32Array(new SharedArrayBuffer(4));
const wait = (ms) => Atomics.wait(pause, 0, 0, ms);

function read() {
  try {
    for (const _ of query.iterate()) wait(5);
    process.stdout.write('read\n');
  } catch (error) {
    process.stdout.write(`failed: ${error.message}\n`);
  }
  // The loop turns once, so that the line is written; the next read begins at once.
  setImmediate(read);
}

read();
