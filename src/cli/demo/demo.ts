/**
 * `selvedge demo`: runs the reference service and a daemon in one process, with seeded data, in a
 * folder of its own.
 */
import { resolve } from 'node:path';
import { Command } from 'commander';
import { describeConfig } from '../../config/describe.ts';
import { requireConfig } from '../../config/load.ts';
import { type DaemonEvents, openDaemon } from '../../daemon/daemon.ts';
import { runUntilSignal } from '../../daemon/lifecycle.ts';
import { loadRuleSet } from '../../decisions/rule-files.ts';
import { systemClock } from '../../lib/clock.ts';
import { zoneOfMachine } from '../../lib/local-time.ts';
import { createLogger, type Logger } from '../../lib/log.ts';
import { systemRandom } from '../../lib/random.ts';
import { storeOptions } from '../../store/store.ts';
import { wholeNumber } from '../arguments.ts';
import { type CliContext, examples, userName } from '../command.ts';
import { EXAMPLE_RULES, prepareDemoFolder } from './folder.ts';
import { textWidth, wrap } from './layout.ts';
import { createLiveView, type LiveView } from './live-view.ts';
import type { DemoPast } from './past.ts';
import { ABOUT, type Counted, introduction, summary } from './texts.ts';

interface DemoOptions {
  readonly dir: string;
  readonly seed: number;
  readonly rules?: string;
  readonly plain?: boolean;
  readonly past: boolean;
}

const WEBHOOK_SECRET_BYTES = 24;

/** Events that count outcomes for the summary, and are passed on to the live view, if any. */
function countingEvents(counted: Counted, view: LiveView | undefined): Partial<DaemonEvents> {
  return {
    ...view?.events,
    decided(decided) {
      counted.outcomes.set(decided.orderDeliveryId, decided.outcome.kind);
      view?.events.decided(decided);
    },
    pushEnded(item, state) {
      counted.pushes.set(state, (counted.pushes.get(state) ?? 0) + 1);
      view?.events.pushEnded(item, state);
    },
  };
}

function demoLogger(context: CliContext, view: LiveView | undefined): Logger {
  const { output, scrubber } = context;
  const write = (line: string): void =>
    view ? view.say(line.trimEnd()) : output.line(line.trimEnd());
  // The live view shows the outcomes itself, so only warnings are logged beside it.
  return createLogger({
    level: view ? 'warn' : 'info',
    format: 'human',
    scrubber,
    timeZone: zoneOfMachine(),
    write,
  });
}

/** Weeks that the demo looks back on; loaded only here, because no other command has any. */
async function pastUnder({ rules = EXAMPLE_RULES, seed }: DemoOptions): Promise<DemoPast> {
  const { createPast } = await import('./past.ts');
  return createPast(loadRuleSet(resolve(rules)), seed);
}

async function runDemo(context: CliContext, options: DemoOptions): Promise<void> {
  const { output, scrubber } = context;
  const clock = systemClock();
  const random = systemRandom();
  const view =
    output.isTerminal && options.plain !== true ? createLiveView(output, clock) : undefined;
  const log = demoLogger(context, view);
  const webhookSecret = `whsec_${random.bytes(WEBHOOK_SECRET_BYTES).toString('base64')}`;
  for (const line of wrap(ABOUT, textWidth(output.columns()))) output.line(line);
  await runUntilSignal(async (signal) => {
    // The reference service is loaded only here, because the daemon would carry all of it along.
    const { parseKnobs } = await import('../../reference/control/knob-store.ts');
    const { startReference } = await import('../../reference/reference.ts');
    const past = options.past ? await pastUnder(options) : undefined;
    const reference = await startReference({
      host: '127.0.0.1',
      ports: { service: 0, relay: 0, control: 0 },
      knobs: parseKnobs({ world: { seed: options.seed } }),
      clock,
      log,
      past,
    });
    try {
      const folder = prepareDemoFolder(options.dir, reference, webhookSecret, options.rules);
      for (const line of introduction(folder, reference, textWidth(output.columns())))
        output.line(line);
      const written = { file: folder.configFile, env: context.env, scrubber };
      const readConfig = () => requireConfig(written).config;
      const { config, warnings } = requireConfig(written);
      // Invalid rules end the demo: the daemon would go on without them, but a person who tries out
      // rules wants to see the mistake.
      loadRuleSet(config.rules.directory);
      await past?.write(storeOptions(config), clock);
      const counted: Counted = { outcomes: new Map(), pushes: new Map() };
      const startedAt = clock.monotonic();
      const events = countingEvents(counted, view);
      const deps = { clock, random, log, scrubber, events };
      const settings = describeConfig(written);
      const daemon = await openDaemon(config, {
        ...deps,
        readConfig,
        written: { file: written.file, settings, warnings },
      });
      const failed = new AbortController();
      const stop = AbortSignal.any([signal, failed.signal]);
      stop.addEventListener('abort', () => view?.say('stopping; Ctrl-C once more forces it'));
      const parts = [
        daemon.run(stop),
        daemon.listenerUrl.then((url) => {
          if (url !== undefined) reference.relay.createEndpoint({ url, secret: webhookSecret });
        }),
        ...(view ? [view.run(daemon.store.db, stop)] : []),
      ];
      void daemon.consoleLink(userName(), 'approver').then((link) => {
        if (view) view.keepLink(link);
        else output.line(`console (opens once)  ${link}`);
      });
      // A part that fails stops the others in order, before its failure is told.
      for (const part of parts) part.catch((error: unknown) => failed.abort(error));
      await Promise.allSettled(parts);
      await Promise.all(parts);
      const ranMs = clock.monotonic() - startedAt;
      const width = textWidth(output.columns());
      for (const line of summary(folder, counted, ranMs, width)) output.line(line);
    } finally {
      await reference.close();
    }
  }, log);
}

export function demo(context: CliContext): Command {
  return new Command('demo')
    .summary('run the daemon against an embedded service, without an account')
    .description(
      'Starts the reference service with a seeded world (some 20,000 variants, orders that are\n' +
        'packed every few seconds) and the daemon with the example rules, and shows what\n' +
        'happens. Behind it are four weeks in which two made-up people decided what the rules\n' +
        'left. Everything is in one folder, which is emptied at the start.',
    )
    .option('--dir <folder>', 'the folder of the demo', '.selvedge-demo')
    .option('--seed <number>', 'the seed of the world', wholeNumber(), 7)
    .option('--rules <dir>', 'your own rules (default: the example rules)')
    .option('--no-past', 'without the orders and decisions of the last four weeks')
    .option('--plain', 'log lines instead of the live view')
    .addHelpText(
      'after',
      examples([
        ['demo', 'until Ctrl-C'],
        ['demo --seed 8 --dir /tmp/demo', 'another world, elsewhere'],
        ['demo --rules my-rules', 'under rules that you write'],
      ]),
    )
    .action((options: DemoOptions) => runDemo(context, options));
}
