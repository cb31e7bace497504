#!/usr/bin/env node
// The launcher. Plain old JavaScript on purpose: it must run, and say something useful, on any
// Node that a host may have. On Node >= 24 it imports the program. On an older one it runs the
// private Node that came with the dependencies and stands in for it: signals and the exit code
// pass through. The database driver would kill an older Node without a word.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import nodeModule, { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';

const NODE_MAJOR_MIN = 24;
const EXIT_CONFIG = 78;

const root = dirname(dirname(fileURLToPath(import.meta.url)));

function privateNode() {
  try {
    const manifest = createRequire(import.meta.url).resolve(
      `node-linux-${process.arch}/package.json`,
    );
    const binary = join(dirname(manifest), 'bin', 'node');
    return existsSync(binary) ? binary : undefined;
  } catch {
    return undefined;
  }
}

function runUnder(binary) {
  const child = spawn(binary, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  const forwarded = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'];
  for (const signal of forwarded) {
    // A Ctrl-C reaches the child by itself as well; it takes both for one.
    process.on(signal, () => child.kill(signal));
  }
  child.on('error', (error) => {
    process.stderr.write(`selvedge: cannot start ${binary}: ${error.message}\n`);
    process.exit(EXIT_CONFIG);
  });
  child.on('exit', (code, signal) => {
    process.exit(signal === null ? code : 128 + constants.signals[signal]);
  });
}

async function runHere() {
  // Before anything is loaded: a young generation that does not grow. Nearly everything in it is
  // dead at once while rows stream through; grown, it costs 90 MiB of the peak and saves nothing.
  setFlagsFromString('--semi-space-growth-factor=1');
  // Threads that start later get room for a page's rows at once: 1 MiB makes them collect all day.
  setFlagsFromString('--min-semi-space-size=4');
  // So small a generation is cleared in less time than other threads take to wake up and help: on
  // a busy machine the event loop stood still for a tenth of a second, waiting for them.
  setFlagsFromString('--no-parallel-scavenge');
  // Keeps what was compiled beside the dependencies: the next start takes half the time. Where
  // nothing can be written there (an installation owned by root), Node goes on without.
  nodeModule.enableCompileCache(join(root, 'node_modules', '.cache', 'selvedge'));
  // A checkout runs its TypeScript; a packed installation has only the compiled program.
  const source = join(root, 'src', 'cli', 'main.ts');
  const entry = existsSync(source) ? source : join(root, 'dist', 'cli', 'main.js');
  const { main } = await import(entry);
  await main(process.argv.slice(2));
}

// Node would open a debugger at this signal, to which everybody on the machine may connect.
process.on('SIGUSR1', () => undefined);

// A daemon that reloads at SIGHUP (see "run") must not die of one while it is still being loaded.
const { NOTIFY_SOCKET, INVOCATION_ID } = process.env;
const isService = !process.stdout.isTTY && (NOTIFY_SOCKET || INVOCATION_ID);
if (process.argv.includes('run') && (isService || process.argv.includes('--reload-on-hup'))) {
  process.on('SIGHUP', () => undefined);
}

const major = Number.parseInt(process.versions.node, 10);
if (major >= NODE_MAJOR_MIN) {
  await runHere();
} else {
  const binary = privateNode();
  if (binary === undefined) {
    process.stderr.write(
      `selvedge needs Node ${NODE_MAJOR_MIN} or newer; this is ${process.version} and no private ` +
        'Node is installed (run "npm ci" without --omit=optional, or install Node 24).\n',
    );
    process.exit(EXIT_CONFIG);
  }
  runUnder(binary);
}
