/**
 * The standby under trouble, as a command:
 *
 *   npm run campaign -- standby [--seeds 1000] [--first 1] [--workers 4] [--lease 2s]
 *
 * Each seed is work for two machines with one service and three servers of PostgreSQL (Debian's,
 * which has to be installed), and a fault at a step that passes (faults.ts). Worlds go on over many
 * seeds; each worker has one. On a machine that is busy with other things a longer lease keeps it
 * from going to and fro. Prints a table of fault × seeds × what went wrong; exits 1 where
 * anything was doubled, lost, sent late or otherwise wrong.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { wholeNumber } from '../../../src/cli/arguments.ts';

const WORKER = fileURLToPath(new URL('./worker.ts', import.meta.url));
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    first: { type: 'string', default: '1' },
    workers: { type: 'string', default: '4' },
    lease: { type: 'string', default: '2s' },
  },
});
const number = wholeNumber(1);
const first = number(values.first);
const seeds = Array.from({ length: number(values.seeds) }, (_, index) => first + index);
const workers = Math.min(number(values.workers), seeds.length);

const texts = z.array(z.string());
const RESULT = z.object({
  seed: z.number(),
  fault: z.string(),
  ms: z.number(),
  cpuSeconds: z.number(),
  told: texts,
  doubled: texts,
  lost: texts,
  late: texts,
  wrong: texts,
  people: texts,
  gone: texts,
  folder: z.string().optional(),
});
const HEARD = z.union([
  z.object({ ready: z.literal(true) }),
  z.object({ seed: z.number(), crash: z.string() }),
  RESULT,
]);
type Result = z.output<typeof RESULT>;

const COUNTED = ['doubled', 'lost', 'late', 'wrong', 'people', 'gone'] as const;
const FATAL = ['doubled', 'lost', 'late', 'wrong'] as const;
const results: Result[] = [];
let crashes = 0;

function say(result: Result): void {
  const { seed, fault, ms, cpuSeconds, told, folder } = result;
  const isRight = FATAL.every((name) => result[name].length === 0);
  const seconds = `${(ms / 1_000).toFixed(1)} s, ${cpuSeconds.toFixed(1)} s CPU`;
  const found = COUNTED.flatMap((name) => result[name].map((one) => `     ${name}: ${one}\n`));
  const happened = told.map(
    (one) => `     ${one}
`,
  );
  const again = isRight
    ? ''
    : `     again: --first ${seed} --seeds 1; kept: ${folder}
`;
  const line = `${isRight ? 'right' : 'WRONG'} ${seed}: ${fault}, ${seconds}\n`;
  process.stdout.write([line, ...happened, ...found, again].join(''));
}

function printTable(): void {
  const faults = [...new Set(results.map(({ fault }) => fault))].sort();
  const row = (name: string, of: readonly Result[]): string => {
    const counts = COUNTED.map((what) =>
      String(of.reduce((sum, one) => sum + one[what].length, 0)).padStart(8),
    );
    return `${name.padEnd(38)}${String(of.length).padStart(6)}${counts.join('')}\n`;
  };
  const head = `${'fault'.padEnd(38)} seeds${COUNTED.map((one) => one.padStart(8)).join('')}\n`;
  const rows = faults.map((name) =>
    row(
      name,
      results.filter(({ fault }) => fault === name),
    ),
  );
  process.stdout.write(`\n${head}${rows.join('')}${row('all', results)}`);
}

async function runWorker(): Promise<void> {
  let child: ChildProcess | undefined;
  while (seeds.length > 0) {
    const mine = child?.connected === true ? child : fork(WORKER, [values.lease]);
    child = mine;
    await new Promise<void>((resolve) => {
      mine.once('exit', () => resolve());
      mine.on('message', (message) => {
        const heard = HEARD.parse(message);
        if ('crash' in heard) {
          crashes += 1;
          process.stdout.write(`WRONG ${heard.seed}: ${heard.crash}\n`);
        } else if ('fault' in heard) {
          results.push(heard);
          say(heard);
        }
        const seed = 'crash' in heard ? undefined : seeds.shift();
        if (seed !== undefined) mine.send({ seed });
        else mine.disconnect();
      });
    });
  }
}

// A stop ends with the seeds that run, and with the table.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void seeds.splice(0));
}
const begunAt = performance.now();
await Promise.all(Array.from({ length: workers }, runWorker));
printTable();
const wallSeconds = (performance.now() - begunAt) / 1_000 / Math.max(1, results.length);
const cpuSeconds = results.reduce((sum, one) => sum + one.cpuSeconds, 0) / results.length;
process.stdout.write(
  `${wallSeconds.toFixed(1)} s a seed, ${cpuSeconds.toFixed(1)} s of processor time ` +
    `(without PostgreSQL and the making of worlds)\n`,
);
const isWrong = results.some((one) => FATAL.some((name) => one[name].length > 0));
if (isWrong || crashes > 0) process.exitCode = 1;
