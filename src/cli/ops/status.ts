/** `selvedge status`: shows the state of the installation. */
import { Command, Option } from 'commander';
import type { Config } from '../../config/schema.ts';
import { pausedWords, type Vocabulary, wordFor } from '../../config/words.ts';
import { systemClock } from '../../lib/clock.ts';
import { toError } from '../../lib/errors.ts';
import { visible } from '../../lib/strings.ts';
import { formatDuration, formatSize } from '../../lib/units.ts';
import { describeExchangeWait, describeSilence, gradeHealth } from '../../ops/health-grade.ts';
import { type Installation, installationOf, readInstallation } from '../../ops/installation.ts';
import { describeBook, limitOf } from '../../ops/order-book.ts';
import { bottleneckOf } from '../../ops/pace.ts';
import { describeCopy } from '../../ops/plane-copy.ts';
import { describeIdle } from '../../ops/rules-acting.ts';
import {
  describeStandby,
  isStandbyWell,
  type StandbyHere,
  waitingHere,
} from '../../ops/standby-here.ts';
import type { Status, StreamStatus } from '../../ops/status.ts';
import { describePart, describeWaiting, WAITING_KINDS } from '../../ops/waiting.ts';
import { describeService } from '../../store/answering.ts';
import { restingWith } from '../../store/space.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';
import type { Output } from '../output.ts';
import { withMirror } from '../reading.ts';
import { remoteConsoleOf, requireHere } from '../remote/console.ts';
import { readRemoteOverview } from '../remote/status.ts';

function counts(record: Readonly<Record<string, number>>, of: Vocabulary): string {
  const parts = Object.entries(record).map(([name, count]) => `${count} ${wordFor(of, name)}`);
  return parts.length === 0 ? 'none' : parts.join(', ');
}

/** Kinds of incidents in words, each with its number. */
function kindsIn(incidents: Readonly<Record<string, number>>): string {
  const kinds = Object.entries(incidents);
  return kinds.map(([kind, count]) => `${wordFor('incident', kind)} (${count})`).join('; ');
}

function ago(ms: number | null): string {
  return ms === null ? 'never' : `${formatDuration(Math.max(0, ms))} ago`;
}

function doingOf({ off, notAtLevel, paused, running, dueInMs }: StreamStatus): string {
  if (notAtLevel !== null) return `not at level ${notAtLevel}`;
  if (off) return 'off';
  if (paused) return 'paused';
  if (!running) return 'waiting';
  // A run that was put off after a failure stays open without doing anything.
  return dueInMs > 0 ? 'retrying' : 'running';
}

function dueOf({ off, dueInMs }: StreamStatus): string {
  if (off) return '-';
  return dueInMs > 0 ? `in ${formatDuration(dueInMs)}` : 'now';
}

function streamRow(stream: StreamStatus): readonly string[] {
  const doing = doingOf(stream);
  const state = stream.stale ? `${doing}, STALE` : doing;
  const rows = stream.rows === null ? '-' : String(stream.rows);
  return [
    wordFor('stream', stream.stream),
    state,
    ago(stream.ageMs),
    rows,
    dueOf(stream),
    stream.lastError ?? '',
  ];
}

function relayLine({ relay }: Status): string {
  if (relay === null) return 'not measured yet';
  const { state, deliveries, missed } = relay;
  const quick = state === 'healthy' ? '' : ', orders are swept every 2m';
  const of = `events missed ${missed} of the newest ${deliveries} deliveries`;
  return `${wordFor('relay', state)}: ${of}${quick}`;
}

/** Whether the service is there, as the daemon saw it last. */
function serviceLine({ service, daemon }: Status): string {
  // A console of an older release does not tell it.
  const text = describeService(service ?? [], systemClock().now());
  return daemon.running ? text : `${text}, as the daemon saw it last`;
}

/** The part of the status that only the daemon's machine knows. */
interface Here {
  readonly found: Installation;
  readonly config: Config;
}

function printDaemon(output: Output, status: Status, here: Here | undefined): void {
  const { daemon } = status;
  output.line(`service     ${visible(serviceLine(status))}`);
  const isSilent = here && here.found.silentMs !== null;
  const silence = isSilent ? `, but ${describeSilence(here.found)}: its log says why` : '';
  const running = `running (${daemon.holder})${silence}`;
  output.line(`daemon      ${daemon.running ? running : 'not running'}`);
  for (const { worker, since, error } of status.failingWorkers) {
    output.line(`worker      ${worker} FAILS since ${new Date(since).toISOString()}: ${error}`);
  }
  output.line(`schema      ${status.schema}`);
  if (status.accountHold !== null) output.line(`account     UNKNOWN: ${status.accountHold}`);
  if (here && here.found.lacks.length > 0) {
    const { level, lacks } = here.found;
    const without = `${level} is without: ${lacks.join('; ')}`;
    output.line(`level       ${without} ("selvedge doctor" tells more)`);
  }
  for (const { actor, reason, at, ...what } of status.paused) {
    const since = new Date(at).toISOString();
    output.line(`PAUSED      ${pausedWords(what)} by ${actor} since ${since}: ${reason}`);
  }
  if (here?.found.dryRun) output.line('DRY RUN     nothing is sent (outbox.dryRun)');
  // A console of an older release does not tell it.
  if (status.receiptsWaitSince) {
    output.line(`exchange    ${describeExchangeWait(status.receiptsWaitSince)}`);
  }
  const idle = describeIdle(status.rules, status.pending);
  if (idle !== undefined) output.line(`rules       ${idle}`);
}

function printStandby(output: Output, here: StandbyHere): void {
  output.line(`standby     ${isStandbyWell(here) ? '' : 'LOOK: '}${describeStandby(here)}`);
}

function printDisk(output: Output, { found, config }: Here): void {
  const { backupAgeMs, freeBytes, plane, standby } = found;
  output.line(`backup      ${backupAgeMs === null ? 'none' : ago(backupAgeMs)}`);
  const resting = restingWith(freeBytes, config.store);
  const rest = resting === undefined ? '' : `: ${resting}`;
  output.line(`disk        ${formatSize(freeBytes)} free${rest}`);
  if (standby !== null) printStandby(output, standby);
  if (plane === null) return;
  const late = plane.isLate ? 'LATE: ' : '';
  output.line(`plane       ${late}${describeCopy(plane)} (account ${plane.account})`);
}

function printStatus(output: Output, status: Status, here: Here | undefined): void {
  const { daemon, events, waiting } = status;
  printDaemon(output, status, here);
  // A console of an older release does not tell it.
  if (waiting) {
    const overdue = waiting.overdue > 0 ? ` (${waiting.overdue} overdue)` : '';
    output.line(`waiting     ${describeWaiting(waiting) || 'nothing'}${overdue}`);
  }
  output.line(`deliveries  ${counts(status.deliveries, 'status')}`);
  output.line(`pending     ${counts(status.pending, 'outcome')}`);
  output.line(`outbox      ${counts(status.outbox, 'pushState')}`);
  const foreign = Object.entries(status.foreignEvents).map(
    ([key, count]) => `; ${count} of another account (${key}) led to no read`,
  );
  output.line(`events      ${events.count}, the last ${ago(events.lastAgeMs)}${foreign.join('')}`);
  output.line(`relay       ${relayLine(status)}`);
  output.line(`to read     ${status.refreshWaiting} orders`);
  // A console of an older release does not tell it.
  if (status.book) {
    const limit = here && limitOf(here.config, status.pace, systemClock().now());
    output.line(`open orders ${describeBook(status.book, limit)}`);
  }
  const bottleneck = daemon.running ? bottleneckOf(status, systemClock().now()) : undefined;
  if (bottleneck !== undefined) output.line(`requests    ${bottleneck}`);
  output.line(`quarantine  ${status.quarantined} rows`);
  const { rejectsWaiting, openIncidents, incidents } = status;
  if (rejectsWaiting > 0) output.line(`rejects     ${rejectsWaiting} wait (selvedge rules queue)`);
  const kinds = openIncidents === 0 ? '' : `: ${kindsIn(incidents)} ("selvedge incidents list")`;
  output.line(`incidents   ${openIncidents} open${kinds}`);
  for (const { says, advice } of status.causes) {
    output.line(`            ${visible(says)}`);
    if (advice !== '') output.line(`              → ${visible(advice)}`);
  }
  if (here) printDisk(output, here);
  output.line();
  output.table(
    ['STREAM', 'STATE', 'COMPLETE', 'ROWS', 'DUE', 'LAST ERROR'],
    status.streams.map(streamRow),
  );
}

/** Prints what waits for a person in its parts, like the first screen of the console. */
function printNeeds(output: Output, { waiting }: Status): void {
  const now = systemClock().now();
  const age = (at: number | null): string => ago(at === null ? null : now - at);
  if (!waiting || waiting.total === 0) return;
  output.line();
  output.table(
    ['WAITING', 'COUNT', 'OLDEST', 'WHAT'],
    WAITING_KINDS.flatMap((kind) =>
      waiting[kind].parts.map(({ what, count, oldestAt }) => {
        return [kind, String(count), age(oldestAt), describePart(kind, what)];
      }),
    ),
  );
}

/** Exit codes of `status --check`, as monitoring programs (Nagios and its kin) expect them. */
const CHECK_CODES = { ok: 0, warning: 1, critical: 2, unknown: 3 } as const;

const WATCH_MS = 2_000;
const CLEAR = '\u001b[H\u001b[2J';

interface Options {
  readonly json?: boolean;
  readonly check?: boolean;
  readonly watch?: boolean;
}

function read(command: Command, context: CliContext): Promise<[Installation, Config]> {
  const now = systemClock().now();
  return withMirror(command, context, async (db, _store, config) => [
    await readInstallation(db, installationOf(config), now),
    config,
  ]);
}

/** This machine, if it waits as a standby: without a database there is nothing else to tell. */
function waitingOf(command: Command, context: CliContext): StandbyHere | undefined {
  return waitingHere(configOf(command, context).config, systemClock().now());
}

async function check(command: Command, context: CliContext): Promise<void> {
  const { output } = context;
  try {
    const standby = waitingOf(command, context);
    if (standby) {
      const grade = isStandbyWell(standby) ? 'ok' : 'warning';
      context.setExitCode(CHECK_CODES[grade]);
      output.line(`${grade.toUpperCase()}: ${describeStandby(standby)}`);
      return;
    }
    const [found, config] = await read(command, context);
    const settings = installationOf(config);
    const { grade, findings, waiting } = gradeHealth(found, settings, systemClock().now());
    context.setExitCode(CHECK_CODES[grade]);
    const told = [...findings, ...(waiting === '' ? [] : [`waiting: ${waiting}`])];
    output.line(`${grade.toUpperCase()}: ${told.join('; ') || 'everything is fine'}`);
  } catch (error) {
    context.setExitCode(CHECK_CODES.unknown);
    output.line(`UNKNOWN: ${toError(error).message.split('\n').join(' ')}`);
  }
}

/** Prints the status once. @param clear empties the terminal once there is something to show. */
async function print(
  command: Command,
  context: CliContext,
  clear: () => void = () => undefined,
): Promise<void> {
  const { output } = context;
  const remote = remoteConsoleOf(command, context);
  if (remote) {
    const overview = await readRemoteOverview(remote);
    clear();
    printStatus(output, overview.status, undefined);
    printNeeds(output, overview.status);
    return;
  }
  const waiting = waitingOf(command, context);
  if (waiting) {
    clear();
    printStandby(output, waiting);
    return;
  }
  const [found, config] = await read(command, context);
  clear();
  printStatus(output, found, { found, config });
  printNeeds(output, found);
}

async function printJson(command: Command, context: CliContext): Promise<void> {
  const remote = remoteConsoleOf(command, context);
  if (!remote) {
    const standby = waitingOf(command, context);
    context.output.json(standby ? { standby } : (await read(command, context))[0]);
    return;
  }
  const { status: found, ...more } = await readRemoteOverview(remote);
  context.output.json({ ...found, ...more });
}

async function watch(command: Command, context: CliContext): Promise<void> {
  const { output } = context;
  const clear = (): void => {
    if (output.isTerminal) output.control(CLEAR);
  };
  while (!output.isClosed()) {
    await print(command, context, clear);
    await systemClock().sleep(WATCH_MS);
  }
}

export function status(context: CliContext): Command {
  return new Command('status')
    .summary('show daemon, sync and outbox state')
    .description(
      'Streams and their age, deliveries, pushes, events and what needs a person. Reads the\n' +
        'database only: works while the daemon runs and while it does not. Over a URL it is\n' +
        "the console's overview.",
    )
    .addOption(new Option('--watch', 'again every two seconds, until Ctrl-C').conflicts(['json']))
    .addOption(
      new Option(
        '--check',
        'one line; exits with 0 fine, 1 warning, 2 critical, 3 unknown',
      ).conflicts(['watch', 'json']),
    )
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([
        ['status', 'for people'],
        ['status --json', 'for programs'],
        ['status --check', 'for monitoring'],
      ]),
    )
    .action(async (options: Options, command: Command) => {
      if (options.check === true) {
        requireHere(remoteConsoleOf(command, context), '--check');
        await check(command, context);
      } else if (options.watch === true) await watch(command, context);
      else if (options.json === true) await printJson(command, context);
      else await print(command, context);
    });
}
