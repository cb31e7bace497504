/**
 * Live view of the demo, on a terminal only: events scroll by above, the current state stands
 * below. Elsewhere the log says the same.
 */
import { LINK_MS } from '../../console/access/entrance.ts';
import type { DaemonEvents } from '../../daemon/daemon.ts';
import type { Clock } from '../../lib/clock.ts';
import { timeOfDay, zoneOfMachine } from '../../lib/local-time.ts';
import { visible } from '../../lib/strings.ts';
import { formatDuration } from '../../lib/units.ts';
import { readStatus, type Status, type StreamStatus } from '../../ops/status.ts';
import { absent } from '../../store/answering.ts';
import type { Db } from '../../store/store.ts';
import type { Output } from '../output.ts';
import { entries, rowsOf, textWidth, wrap } from './layout.ts';
import { padKind } from './texts.ts';

const REDRAW_MS = 1_000;

/** Indent as wide as the time and the two spaces after it. */
const TIME_INDENT = ' '.repeat(10);

export interface LiveView {
  readonly events: DaemonEvents;
  say(text: string): void;
  /** Keeps a link to the console in sight until it ends, and then the console's address. */
  keepLink(link: string): void;
  /** Redraws the current state until the signal aborts. */
  run(db: Db, signal: AbortSignal): Promise<void>;
}

type Style = Parameters<Output['style']>[0];

/** A word of a line that is shown in colour. */
interface Coloured {
  readonly word: string;
  readonly style: Style;
}

const STYLES: Readonly<Record<string, Style>> = {
  accept: 'green',
  hold: 'yellow',
  reject: 'red',
  no_rule: 'dim',
};

/** Streams that a decision needs, in the order in which they are shown; the others follow. */
const FIRST_STREAMS: readonly string[] = ['stock', 'season', 'orders'];

function rank({ stream }: StreamStatus): number {
  const place = FIRST_STREAMS.indexOf(stream);
  return place < 0 ? FIRST_STREAMS.length : place;
}

function streamEntry({ stream, ageMs, rows, running }: StreamStatus): string {
  if (ageMs === null) return `${stream} ${running ? 'comes in' : 'waits'}`;
  const age = formatDuration(Math.floor(Math.max(0, ageMs) / 1_000) * 1_000);
  return `${stream} ${rows ?? 0}, ${age} old`;
}

function counts(record: Readonly<Record<string, number>>): string[] {
  const given = Object.entries(record).map(([name, count]) => `${count} ${name}`);
  return given.length === 0 ? ['none yet'] : given;
}

/** A link to the console, and when it was made, in ms of the monotonic clock. */
interface KeptLink {
  readonly link: string;
  readonly madeAt: number;
}

function consoleLines({ link, madeAt }: KeptLink, now: number, columns: number): string[] {
  if (now - madeAt < LINK_MS) return ['console     opens once:', ...wrap(link, columns)];
  return wrap(`console     ${new URL(link).origin} (selvedge console open)`, columns);
}

function footerOf(status: Status, link: readonly string[], columns: number): string[] {
  const streams = [...status.streams].sort((one, other) => rank(one) - rank(other));
  const { count } = status.events;
  const waiting = status.refreshWaiting;
  const away = absent(status.service);
  return [
    '─'.repeat(columns),
    ...(away === undefined ? [] : entries('service     ', [away], columns)),
    ...entries('streams     ', streams.map(streamEntry), columns),
    ...entries('events      ', [`${count} received`, `${waiting} orders to read`], columns),
    ...entries('deliveries  ', counts(status.deliveries), columns),
    ...entries('pending     ', counts(status.pending), columns),
    ...entries('answers     ', counts(status.outbox), columns),
    ...link,
    'Ctrl-C stops both sides',
  ];
}

/**
 * Names the delivery of a push such as `delivery/500044/decision/8`, as the decision above it does.
 */
function answered(reference: string): string {
  const [, delivery] = /^delivery\/(\d+)\//.exec(reference) ?? [];
  return delivery === undefined ? reference : `delivery ${delivery}  ${padKind('answer')}`;
}

export function createLiveView(output: Output, clock: Clock): LiveView {
  let footer: readonly string[] = [];
  let kept: KeptLink | undefined;
  const timeZone = zoneOfMachine();
  const width = (): number => textWidth(output.columns());
  const erase = (): string => {
    const rows = rowsOf(footer, output.columns());
    // The cursor returns to the left edge first, because an echo of what was typed (^C) may have
    // moved it.
    return rows === 0 ? '' : `\r\u001b[${rows}A\u001b[0J`;
  };
  const draw = (lines: readonly string[]): void => {
    output.control(erase());
    output.line(lines.join('\n'));
  };
  const say = (text: string, coloured?: Coloured): void => {
    const time = timeOfDay(timeZone, clock.now());
    const [first = '', ...more] = visible(text, '\n')
      .split('\n')
      .flatMap((line) => wrap(`${TIME_INDENT}${line}`, width(), TIME_INDENT));
    const rest = first.slice(TIME_INDENT.length);
    const at = coloured ? rest.indexOf(coloured.word) : -1;
    const shown =
      coloured && at >= 0
        ? rest.slice(0, at) +
          output.style(coloured.style, coloured.word) +
          rest.slice(at + coloured.word.length)
        : rest;
    draw([`${output.style('dim', time)}  ${shown}`, ...more, ...footer]);
  };
  return {
    say,
    keepLink(link) {
      kept = { link, madeAt: clock.monotonic() };
    },
    events: {
      runEnded({ stream, outcome, rows, changed, reason }) {
        say(
          `${stream}: ${outcome}, ${rows} rows (${changed} changed)${reason ? `: ${reason}` : ''}`,
        );
      },
      decided({ orderDeliveryId, outcome }) {
        const { kind, rules, reason } = outcome;
        const by = rules.length > 0 ? ` [${rules.join(' ')}]` : '';
        const style = STYLES[kind] ?? 'dim';
        say(`delivery ${orderDeliveryId}  ${padKind(kind)}  ${reason}${by}`, { word: kind, style });
      },
      pushEnded({ reference }, state) {
        const style = state === 'confirmed' ? 'green' : 'red';
        say(`${answered(reference)}  ${state}`, { word: state, style });
      },
    },
    async run(db, signal) {
      while (!signal.aborted) {
        const status = await readStatus(db, clock.now(), {});
        if (signal.aborted) break;
        const link = kept ? consoleLines(kept, clock.monotonic(), width()) : [];
        const lines = footerOf(status, link, width());
        draw(lines);
        footer = lines;
        await clock.sleep(REDRAW_MS, signal).catch(() => undefined);
      }
      output.control(erase());
      footer = [];
    },
  };
}
