/** Follows until it is killed: `node sink-child.ts <mirror.db> <url> <account> <clock's step>`. */
import { dirname } from 'node:path';
import { createLogger } from '../../../src/lib/log.ts';
import { createScrubber } from '../../../src/lib/secret.ts';
import { connectPostgres } from '../../../src/plane/postgres.ts';
import { createSink } from '../../../src/plane/sink.ts';
import { createSource } from '../../../src/plane/source.ts';
import { ALL_CONTENT, SCHEMA } from '../world.ts';
import { steppedClock } from './stepped-clock.ts';

const [path = '', url = '', account = '', stepMs = '0'] = process.argv.slice(2);
const write = (line: string): void => {
  process.stdout.write(line);
};
const scrubber = createScrubber();
const sink = createSink({
  source: createSource({ path, busyTimeoutMs: 5_000, content: ALL_CONTENT }),
  connect: connectPostgres({ url, schema: SCHEMA, connectTimeoutMs: 2_000 }),
  settings: { account, schema: SCHEMA, everyMs: 20, dataDir: dirname(path) },
  clock: steppedClock(Number(stepMs)),
  log: createLogger({ level: 'info', format: 'json', scrubber, write }),
});
write('ready\n');
await sink.run(new AbortController().signal);
