/**
 * A transfer program with a slow line: writes standard input into a file that stays open, in pieces
 * that end anywhere, with pauses. Before the second piece, it waits until somebody has taken the
 * file away, for whole.
 */
import { existsSync, openSync, writeSync } from 'node:fs';
import { text } from 'node:stream/consumers';

const [path = '', seed = '1'] = process.argv.slice(2);
const content = Buffer.from(await text(process.stdin));
const pause = new Int32Array(new SharedArrayBuffer(4));
let state = Number(seed);

/** A small generator of numbers below 1 (mulberry32). */
function random() {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
}

const file = openSync(path, 'w');
for (let at = 0; at < content.length; ) {
  const bytes = 1 + Math.floor(random() * 20_000);
  writeSync(file, content.subarray(at, at + bytes));
  const isFirst = at === 0;
  at += bytes;
  while (isFirst && existsSync(path)) Atomics.wait(pause, 0, 0, 20);
  Atomics.wait(pause, 0, 0, random() * 300);
}
