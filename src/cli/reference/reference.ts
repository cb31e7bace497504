/** `selvedge reference`: runs the reference service alone, for curl, tests and rule trials. */
import { chmodSync, statSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command } from 'commander';
import { runUntilSignal } from '../../daemon/lifecycle.ts';
import {
  type Clock,
  manualClock,
  scaledClock,
  systemClock,
  untilAborted,
} from '../../lib/clock.ts';
import { UsageError } from '../../lib/errors.ts';
import type { Reference } from '../../reference/reference.ts';
import { wholeNumber } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { commandLogger } from '../logging.ts';
import type { KnobFlags } from './settings.ts';

interface ReferenceFlags extends KnobFlags {
  readonly host: string;
  readonly port: number;
  readonly relayPort: number;
  readonly controlPort: number;
  readonly speed: string;
  readonly stepped?: boolean;
  readonly keys: string;
  readonly webhook?: string;
  readonly relayState?: string;
}

const KEYS_MODE = 0o600;
const PORT = wholeNumber(0, 65_535);

/**
 * Maximum speed of the clock: a day takes less than a tenth of a second. Beyond it the calendar
 * ends within hours.
 */
const SPEED_MAX = 1_000_000;

function clockOf(flags: ReferenceFlags, real: Clock): Clock {
  if (flags.stepped === true) return manualClock(real.now());
  const speed = Number(flags.speed);
  if (!(speed > 0 && speed <= SPEED_MAX)) {
    const hint = `more than 0 and at most ${SPEED_MAX}`;
    throw new UsageError('reference.speed', `${flags.speed} is no speed`, { hint });
  }
  return speed === 1 ? real : scaledClock(real, speed);
}

/**
 * Writes the reference service's keys, which are new at each start, to a file that only this user
 * can read.
 */
function writeKeys(file: string, reference: Reference, webhookSecret: string | undefined): string {
  const path = resolve(file);
  const { v1Url, v2Url, relayUrl, controlUrl, relayToken, credentials } = reference;
  const urls = { v1: v1Url, v2: v2Url, relay: relayUrl, control: controlUrl };
  const text = JSON.stringify({ urls, keys: credentials, relayToken, webhookSecret }, null, 2);
  // `mode` below applies to a new file only, so an existing one is changed first.
  if (statSync(path, { throwIfNoEntry: false })?.isFile()) chmodSync(path, KEYS_MODE);
  writeFileSync(path, `${text}\n`, { mode: KEYS_MODE });
  return path;
}

async function runReference(context: CliContext, flags: ReferenceFlags): Promise<void> {
  // The reference service is loaded only here, because the daemon would carry all of it along.
  const { startReference } = await import('../../reference/reference.ts');
  const { knobsOf } = await import('./settings.ts');
  const real = systemClock();
  const log = commandLogger(context, { level: 'info', format: 'auto' });
  await runUntilSignal(async (signal) => {
    const reference = await startReference({
      host: flags.host,
      ports: {
        service: flags.port,
        relay: flags.relayPort,
        control: flags.controlPort,
      },
      knobs: knobsOf(flags),
      clock: clockOf(flags, real),
      wallClock: real,
      log,
      relayState: flags.relayState,
    });
    try {
      const { relay } = reference;
      const known = relay.listEndpoints().find(({ url }) => url === flags.webhook);
      const endpoint = known ?? (flags.webhook && relay.createEndpoint({ url: flags.webhook }));
      const secret = endpoint ? relay.secret(endpoint.id) : undefined;
      const keys = writeKeys(flags.keys, reference, secret);
      const { output } = context;
      output.line(`V1       ${reference.v1Url}  (described below it: /openapi.json, /docs)`);
      output.line(`V2       ${reference.v2Url}`);
      output.line(`relay    ${reference.relayUrl}  (portal: POST /webhook-portal at V1)`);
      output.line(`control  ${reference.controlUrl}`);
      output.line(`keys     ${keys}`);
      await untilAborted(signal);
    } finally {
      await reference.close();
    }
  }, log);
}

function collect(value: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, value];
}

export function reference(context: CliContext): Command {
  return new Command('reference')
    .summary('run the reference service: V1, V2, relay and portal with seeded data')
    .description(
      'A stand-in for the service, for curl, tests and rule trials. Loopback only; nothing of\n' +
        'the world is kept. The same seed gives the same world. Knobs:\n' +
        'docs/internals/reference-service.md',
    )
    .option('--host <address>', 'a loopback address', '127.0.0.1')
    .option('--port <port>', 'V1 and V2; 0 is any free port', PORT, 8780)
    .option('--relay-port <port>', 'relay and portal', PORT, 8781)
    .option('--control-port <port>', 'control API', PORT, 8782)
    .option('--seed <number>', 'the seed of the world', wholeNumber())
    .option('--brands <number>', 'brands in the world', wholeNumber())
    .option('--styles <number>', 'styles in the world', wholeNumber())
    .option('--knobs <file>', 'knobs from a YAML file')
    .option('--set <knob=value>', 'one knob, e.g. life.packAfter=2s; may be repeated', collect, [])
    .option('--strict', 'refuse whatever the wire contract does not allow')
    .option('--speed <factor>', 'how fast its clock runs', '1')
    .option('--stepped', 'its clock stands still and is stepped through the control API')
    .option('--keys <file>', 'where the keys are written', 'selvedge-reference.json')
    .option('--webhook <url>', 'subscribe this endpoint to every event')
    .option('--relay-state <file>', 'keep endpoints, queue and history of the relay here')
    .addHelpText(
      'after',
      examples([
        ['reference --seed 7', 'the default world'],
        ['reference --set life.ordersPerMinute=120 --speed 10', 'a busy one'],
        ['reference --stepped --strict', 'for exact trials'],
      ]),
    )
    .action((flags: ReferenceFlags) => runReference(context, flags));
}
