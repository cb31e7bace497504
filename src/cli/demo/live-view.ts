/**
 * Live view: events scroll by above, the current state stands below. On a
 * terminal only; elsewhere the log says the same.
 */
import type { DaemonEvents } from '../../daemon/daemon.ts';
import type { Clock } from '../../lib/clock.ts';
import { formatDuration } from '../../lib/units.ts';
import { readStatus, type Status } from '../../ops/status.ts';
import type { Db } from '../../store/store.ts';
import type { Output } from '../output.ts';

const REDRAW_MS = 1_000;
const WIDTH_MAX = 110;

export interface LiveView {
  readonly events: DaemonEvents;
  say(text: string): void;
  /** Redraws until the signal aborts. */
  run(db: Db, signal: AbortSignal): Promise<void>;
}

type Style = Parameters<Output['style']>[0];

const STYLES: Readonly<Record<string, Style>> = {
  accept: 'green',
  hold: 'yellow',
  reject: 'red',
  nothing: 'dim',
};

function counts(record: Readonly<Record<string, number>>): string {
  return Object.entries(record)
    .map(([name, count]) => `${count} ${name}`)
    .join('  ');
}

function footerOf(status: Status): string[] {
  const streams = status.streams.map(({ stream, ageMs, rows, running }) => {
    const age = ageMs === null ? 'first pull' : `${formatDuration(Math.max(0, ageMs))} old`;
    return `${stream} ${rows ?? '…'} rows, ${age}${running ? ' ⟳' : ''}`;
  });
  return [
    '─'.repeat(78),
    `streams     ${streams.join('   ')}`,
    `events      ${status.events.count} received   ${status.refreshWaiting} orders to read`,
    `deliveries  ${counts(status.deliveries)}`,
    `pending     ${counts(status.pending)}`,
    `pushes      ${counts(status.outbox)}`,
    'Ctrl-C stops both sides',
  ].map((line) => line.slice(0, WIDTH_MAX));
}

export function createLiveView(output: Output, clock: Clock): LiveView {
  let footer: readonly string[] = [];
  const erase = (): string => (footer.length === 0 ? '' : `\u001b[${footer.length}A\u001b[0J`);
  const draw = (lines: readonly string[]): void => {
    output.control(erase());
    output.line(lines.join('\n'));
  };
  const say = (text: string): void => {
    const time = new Date(clock.now()).toISOString().slice(11, 19);
    draw([`${output.style('dim', time)}  ${text}`, ...footer]);
  };
  return {
    say,
    events: {
      runEnded({ stream, outcome, rows, changed, reason }) {
        say(
          `${stream}: ${outcome}, ${rows} rows (${changed} changed)${reason ? `: ${reason}` : ''}`,
        );
      },
      decided({ orderDeliveryId, outcome }) {
        const { kind, rules, reason } = outcome;
        const verdict = output.style(STYLES[kind] ?? 'dim', kind.padEnd(7));
        const by = rules.length > 0 ? `  [${rules.join(' ')}]` : '';
        say(`delivery ${orderDeliveryId}  ${verdict} ${reason}${by}`.slice(0, WIDTH_MAX + 20));
      },
      pushEnded({ reference }, state) {
        say(`push ${reference}  ${output.style(state === 'confirmed' ? 'green' : 'red', state)}`);
      },
    },
    async run(db, signal) {
      while (!signal.aborted) {
        const status = await readStatus(db, clock.now(), {});
        if (signal.aborted) break;
        const lines = footerOf(status);
        draw(lines);
        footer = lines;
        await clock.sleep(REDRAW_MS, signal).catch(() => undefined);
      }
      footer = [];
    },
  };
}
