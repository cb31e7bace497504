/** Thread that lets a test wait for the foreign client without giving way to its own event loop. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { workerData } from 'node:worker_threads';

const { args, port, answered } = workerData;
const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
createInterface({ input: child.stdout }).on('line', (line) => {
  port.postMessage(line);
  Atomics.add(answered, 0, 1);
  Atomics.notify(answered, 0);
});
port.on('message', (line) => child.stdin.write(`${line}\n`));
