/** `selvedge standby drill`: hands over to the standby, and reports how long that took. */
import { Command } from 'commander';
import { z } from 'zod';
import { requireStandby, serversOf } from '../../daemon/standby/waiting.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { RefusedError, RetryLaterError } from '../../lib/errors.ts';
import { formatDuration } from '../../lib/units.ts';
import { readLease } from '../../standby/lease.ts';
import { readOverview, type WaitingSeen } from '../../standby/overview.ts';
import type { Session } from '../../standby/session.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';
import { askRunningDaemon } from '../daemon-call.ts';

/** A standby tells of itself each half minute. */
const SEEN_MS_MAX = 90_000;
const LOOK_MS = 500;

/** The machine that would take over. Throws where there is none: nobody would send any more. */
async function requireReady(session: Session, account: string, me: string): Promise<WaitingSeen> {
  const { machines } = await readOverview(session, account);
  const others = machines.filter(({ machine }) => machine !== me);
  const ready = others.find(({ seenMsAgo, behind }) => seenMsAgo < SEEN_MS_MAX && behind !== null);
  if (ready) return ready;
  throw new RefusedError('standby.nobody_waits', 'no standby with a backup waits now', {
    hint: 'start it there (selvedge-standby), and look at "selvedge standby status"',
  });
}

async function untilTaken(
  session: Session,
  account: string,
  taking: string,
  { clock, waitMs }: { readonly clock: Clock; readonly waitMs: number },
): Promise<string> {
  const begunAt = clock.monotonic();
  for (;;) {
    const row = await readLease(session, account);
    if (row && row.taking !== taking) return row.holder;
    if (clock.monotonic() - begunAt > waitMs) {
      throw new RetryLaterError('standby.not_taken', 'nobody has taken the lease', {
        hint: 'start the daemon here again: it takes its lease back and sends',
      });
    }
    await clock.sleep(LOOK_MS);
  }
}

export function standbyDrill(context: CliContext): Command {
  return new Command('drill')
    .summary('hand over to the standby, and report')
    .description(
      'Has the daemon of this machine stop sending, waits until PostgreSQL has all, and gives\n' +
        'the lease away; nothing is in doubt and no number is left out. The daemon here ends\n' +
        'with exit code 76, and its unit starts the standby. Type it there to come back.',
    )
    .option('--json', 'the result as JSON')
    .addHelpText('after', examples([['standby drill', 'once a month, and once more to come back']]))
    .action(async ({ json }: { readonly json?: boolean }, command: Command) => {
      const { config } = configOf(command, context);
      const { account, machine, leaseMs } = requireStandby(config);
      const clock = systemClock();
      const session = await serversOf(config, clock).open();
      try {
        const ready = await requireReady(session, account, machine);
        const before = await readLease(session, account);
        const begunAt = clock.monotonic();
        await askRunningDaemon(command, context, {
          path: '/api/standby/hand-over',
          body: {},
          answer: z.object({ handedOver: z.literal(true) }),
        });
        const handedMs = clock.monotonic() - begunAt;
        const wait = { clock, waitMs: leaseMs * 4 };
        const holder = await untilTaken(session, account, before?.taking ?? '', wait);
        const takenMs = clock.monotonic() - begunAt - handedMs;
        const { output } = context;
        if (json === true) {
          output.json({ from: machine, to: holder, handedMs, takenMs, behind: ready.behind });
          return;
        }
        output.line(`the lease was given away after ${formatDuration(Math.round(handedMs))}`);
        output.line(`taken by ${holder} after ${formatDuration(Math.round(takenMs))}`);
        output.line(`it plays ${ready.behind} rows, reads everything once, and then sends`);
        output.line('to come back, type the same there once "selvedge status" is well');
      } finally {
        await session.end();
      }
    });
}
