/** `selvedge events ping`: does an event find its way from the relay to the database? */
import { Command, Option } from 'commander';
import { createRelayApi, type RelayApi } from '../../client/relay-api.ts';
import type { Config } from '../../config/schema.ts';
import { routeOf } from '../../daemon/service.ts';
import { arrivedAt, type EventRow, eventsFrom } from '../../inbox/overview.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { SelvedgeError } from '../../lib/errors.ts';
import { formatDuration } from '../../lib/units.ts';
import type { Db } from '../../store/store.ts';
import { duration } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { withMirror } from '../reading.ts';

interface Options {
  readonly timeout: number;
  readonly json?: boolean;
}

const LOOK_MS = 50;
const TIMEOUT_MS_DEFAULT = 30_000;

function relayOf({ relay, service }: Config, clock: Clock): RelayApi | undefined {
  const { apiUrl, token, application, endpoint } = relay;
  if (apiUrl === null || token === null) return undefined;
  return createRelayApi({ apiUrl, token, application, endpoint, ...routeOf(service) }, clock);
}

/** The first event that arrives from then on, or the one of this id; undefined when time is up. */
async function waitForArrival(
  db: Db,
  wanted: { readonly from: number; readonly eventId?: string | undefined },
  clock: Clock,
  deadline: number,
): Promise<EventRow | undefined> {
  for (;;) {
    const events = await eventsFrom(db, wanted.from);
    const { eventId } = wanted;
    const found = events.find((one) => eventId === undefined || one.eventId === eventId);
    if (found || clock.now() >= deadline) return found;
    await clock.sleep(LOOK_MS);
  }
}

/** What the relay saw of an event that did not reach us. */
async function failureOf(api: RelayApi, eventId: string): Promise<SelvedgeError> {
  const attempt = await api.lastAttempt(eventId);
  const answer = attempt?.status === 0 ? 'no answer' : attempt?.status;
  const seen = attempt ? `gets ${answer} from ${attempt.url}` : 'has not tried yet';
  return new SelvedgeError('events.no_ping', `the ping did not arrive: the relay ${seen}`, {
    hint: '401: the signing secret differs; 404: the path; no answer: proxy, tunnel or firewall',
  });
}

/** Whether somebody is there to take events in. */
export async function daemonRuns(db: Db, now: number): Promise<boolean> {
  const lease = await db
    .selectFrom('lease')
    .select('expires_at')
    .where('name', '=', 'daemon')
    .executeTakeFirst();
  return (lease?.expires_at ?? 0) > now;
}

async function ping(context: CliContext, db: Db, config: Config, options: Options) {
  const { output } = context;
  const clock = systemClock();
  const from = clock.now();
  if (!(await daemonRuns(db, from))) {
    throw new SelvedgeError('events.no_daemon', 'no daemon runs: nothing can arrive', {
      hint: 'selvedge run',
    });
  }
  const api = relayOf(config, clock);
  const deadline = from + options.timeout;
  if (!api) {
    output.note('the relay cannot be asked (relay.apiUrl and relay.token are not set):');
    const time = formatDuration(options.timeout);
    output.note(`waiting ${time} for whatever arrives; send an example in the portal`);
  }
  const asked = await api?.sendExample('ping');
  if (asked) output.note(`asked the relay: ${asked.eventId} to endpoint ${asked.endpoint}`);
  const arrived = await waitForArrival(db, { from, eventId: asked?.eventId }, clock, deadline);
  if (!arrived && api && asked) throw await failureOf(api, asked.eventId);
  if (!arrived) {
    const hint =
      'send an example: "selvedge portal open"; one that came and was signed by another secret ' +
      'is "event refused: forged" in the log';
    throw new SelvedgeError('events.no_event', 'no event arrived in this time', { hint });
  }
  const { eventId, type, secretName } = arrived;
  return { asked: asked !== undefined, eventId, type, secretName, ms: arrivedAt(arrived) - from };
}

export function eventsPing(context: CliContext): Command {
  return new Command('ping')
    .summary('test the way from the relay to the database')
    .description(
      'Asks the relay for a ping (relay.apiUrl, relay.token) and waits until it is stored.\n' +
        'Where the relay cannot be asked it says so, and waits for whatever event arrives.',
    )
    .addOption(
      new Option('--timeout <duration>', 'how long to wait')
        .argParser(duration)
        .default(TIMEOUT_MS_DEFAULT, '30s'),
    )
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([
        ['events ping', 'after a change of proxy, secret or endpoint'],
        ['events ping --timeout 5m', 'time to press "send example" in the portal'],
      ]),
    )
    .action(async (options: Options, command: Command) => {
      const result = await withMirror(command, context, (db, _store, config) =>
        ping(context, db, config, options),
      );
      const { eventId, type, secretName, ms } = result;
      if (options.json === true) context.output.json(result);
      else
        context.output.line(`${type ?? eventId} arrived after ${ms} ms, signed by ${secretName}`);
    });
}
