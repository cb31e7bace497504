/**
 * The reference service with a large world: start, memory, pages and the whole list over HTTP.
 * Server and load are two processes; figures per second of the server's CPU time say what one
 * core can do, whatever else the machine is busy with.
 *
 * `node bench/reference.ts [variants] [seconds]`
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { Pool } from 'undici';

const VARIANTS = Number(process.argv[2] ?? 1_000_000);
const SECONDS = Number(process.argv[3] ?? 4);
const CONNECTIONS = 8;
const PAGE_ROWS = 250;
const CLOCK_TICKS_PER_SECOND = 100;
const SERVER = fileURLToPath(new URL('./support/reference-process.ts', import.meta.url));

// Four colors in five sizes: 20 variants a style; the newest of five seasons is not in stock yet.
const world = { styles: Math.ceil(VARIANTS / 20), colors: 4, sizes: 5, orders: 0 };
const life = { ordersPerMinute: 0, restocksPerMinute: 0 };
const startedAt = performance.now();
const server = fork(SERVER, [JSON.stringify({ world, life, rates: { perSecond: 0 } })]);
const [source] = await once(server, 'message');
console.log(`${VARIANTS} variants, ${source.rows} in stock`);
console.log(`start, generation included: ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);

const { origin, pathname } = new URL(source.v1Url);
const pool = new Pool(origin, { connections: CONNECTIONS, bodyTimeout: 0 });
const headers = { 'x-service-authorization': source.credentials.apiKey };

/** Seconds of CPU that the server has used, in user and system mode. */
function serverCpu(): number {
  const fields = readFileSync(`/proc/${server.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_SECOND;
}

async function get(path: string): Promise<number> {
  const { statusCode, body } = await pool.request({
    method: 'GET',
    path: pathname + path,
    headers,
  });
  if (statusCode !== 200) throw new Error(`${path}: ${statusCode}`);
  let bytes = 0;
  for await (const chunk of body) bytes += chunk.length;
  return bytes;
}

async function measured(work: () => Promise<number>): Promise<[number, number, number]> {
  const [wall, cpu] = [performance.now(), serverCpu()];
  const done = await work();
  return [done, (performance.now() - wall) / 1000, serverCpu() - cpu];
}

for (const detailed of [false, true]) {
  const pages = Math.floor(source.rows / PAGE_ROWS);
  const [count, wall, cpu] = await measured(async () => {
    const end = performance.now() + SECONDS * 1000;
    let done = 0;
    const reader = async (): Promise<void> => {
      while (performance.now() < end) {
        const page = 1 + ((done * 37) % pages);
        done += 1;
        await get(`/variants/stock?page=${page}&limit=${PAGE_ROWS}&detailed=${detailed}`);
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, reader));
    return done;
  });
  const what = detailed ? 'detailed pages' : 'plain pages';
  const perCpu = Math.round(count / cpu);
  console.log(`${what}: ${Math.round(count / wall)}/s, ${perCpu} per second of server CPU`);
}
const [bytes, wall, cpu] = await measured(() => get('/variants/stock?detailed=true'));
const mb = bytes / 1e6;
console.log(
  `whole list: ${mb.toFixed(0)} MB, ${(mb / wall).toFixed(0)} MB/s, ` +
    `${(mb / cpu).toFixed(0)} MB per second of server CPU`,
);
const peak = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1];
console.log(`peak memory: ${Math.round(Number(peak) / 1024)} MiB`);
await pool.close();
server.disconnect();
