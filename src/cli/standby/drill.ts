/** `selvedge standby drill`: has the standby take over and give back, and reports. */
import { Command, Option } from 'commander';
import { z } from 'zod';
import type { Config } from '../../config/schema.ts';
import { requireStandby, serversOf } from '../../daemon/standby/waiting.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { RetryLaterError } from '../../lib/errors.ts';
import { formatDuration } from '../../lib/units.ts';
import { version } from '../../ops/version.ts';
import {
  type DrillReport,
  type DrillStep,
  type HolderHere,
  runDrill,
  whyUnclean,
} from '../../standby/drill.ts';
import { readLedger } from '../../standby/ledger.ts';
import { readStandbyStatus } from '../../standby/status-file.ts';
import { chooseBackup, readMeasure } from '../../standby/take-over/choose-backup.ts';
import { TAKE_OVER } from '../../store/backup/taken-over.ts';
import { describePause, readPauses } from '../../store/pauses.ts';
import { openReadOnlyStore, storeOptions } from '../../store/store.ts';
import { durationWithin } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';
import { askRunningDaemon } from '../daemon-call.ts';
import type { Output } from '../output.ts';

interface Options {
  readonly within: number;
  readonly oneWay?: boolean;
  readonly json?: boolean;
}

const HOUR_MS = 3_600_000;

/** This machine as its status file and its database tell; undefined: it has none now. */
async function readHere(config: Config): Promise<HolderHere | undefined> {
  const told = readStandbyStatus(config.dataDir);
  const store = await openReadOnlyStore(storeOptions(config)).catch(() => undefined);
  if (store === undefined) return undefined;
  try {
    const pause = (await readPauses(store.db)).find(({ actor }) => actor === TAKE_OVER);
    return {
      ...(await readLedger(store.db)),
      token: told?.role === 'holder' && told.state === 'sending' ? told.token : undefined,
      waitsFor: pause && describePause(pause),
    };
  } finally {
    await store.close();
  }
}

function lineOf({ step, atMs, machine, says }: DrillStep): string {
  const at = formatDuration(Math.round(atMs / 100) * 100).padStart(7);
  return `${at}  ${step.padEnd(11)}  ${machine}: ${says}`;
}

function printReport(output: Output, report: DrillReport): void {
  const { isBack, from, to, inDoubt, numbers } = report;
  output.line();
  if (!isBack) output.line(`${to} holds the lease; to come back, type the same there`);
  else output.line(`${from} holds the lease again, and ${to} waits`);
  if (inDoubt) {
    output.line(
      `in doubt   ${inDoubt.put} by the take-overs; ${inDoubt.before} before, ${inDoubt.after} now`,
    );
  }
  if (numbers)
    output.line(`numbers    last document ${numbers.before} before, ${numbers.after} now`);
}

export function standbyDrill(context: CliContext): Command {
  return new Command('drill')
    .summary('have the standby take over and give back, and report')
    .description(
      'Has the daemon of this machine stop sending, waits until PostgreSQL has all, and gives\n' +
        'the lease to the standby. Once that has read everything, decides and sends, it gives\n' +
        'the lease back, and this machine does the same. Nothing is in doubt and no number is\n' +
        'left out, else the exit code is 1; also if the lease is not back in time: then the\n' +
        'other machine keeps it and sends. Refused if either could not take over now. Both\n' +
        'machines need their units (selvedge, selvedge-standby). A drill that is broken off\n' +
        'comes back by itself, as long as --within says.',
    )
    .addOption(
      new Option(
        '--within <duration>',
        'time for all of it; a restore and a full pull are needed twice',
      )
        .argParser(durationWithin(1_000, 24 * HOUR_MS))
        .default(HOUR_MS, '1h'),
    )
    .option('--one-way', 'leave the lease there, as before work on this machine')
    .option('--json', 'the result as JSON')
    .addHelpText(
      'after',
      examples([
        ['standby drill', 'once a month'],
        ['standby drill --one-way', 'this machine is to be switched off'],
      ]),
    )
    .action(async ({ within, oneWay, json }: Options, command: Command) => {
      const { config } = configOf(command, context);
      const settings = requireStandby(config);
      const clock: Clock = systemClock();
      const { output } = context;
      const steps: DrillStep[] = [];
      const tell = (step: DrillStep): void => {
        steps.push(step);
        if (json !== true) output.line(lineOf(step));
      };
      let report: DrillReport | undefined;
      let thrown: unknown;
      try {
        report = await runDrill({
          settings,
          clock,
          tell,
          servers: serversOf(config, clock),
          version: version(),
          isOneWay: oneWay === true,
          withinMs: within,
          here: () => readHere(config),
          requireWayBack: async (session) => {
            const measure = await readMeasure(session, settings.account);
            await chooseBackup(config, measure, clock.now());
          },
          handOver: (to, signal) =>
            askRunningDaemon(command, context, {
              path: '/api/standby/hand-over',
              body: { to },
              signal,
              answer: z.object({ handedOver: z.literal(true) }),
            }),
        });
      } catch (error) {
        thrown = error;
      }
      // A drill that was refused has begun nothing to report of.
      const isBegun = steps.length > 0;
      if (json === true && isBegun) output.json({ ...(report ?? { isBack: false }), steps });
      else if (report) printReport(output, report);
      if (report === undefined) throw thrown;
      const unclean = whyUnclean(report);
      if (unclean === undefined) return;
      throw new RetryLaterError('standby.unclean', `the drill came back, and ${unclean}`, {
        hint: 'selvedge outbox; the audit has both take-overs (selvedge audit)',
      });
    });
}
