/**
 * Logging: pino JSON lines, one per outcome, with fixed keys. Every line passes the scrubber at the
 * sink. Under journald each line carries its priority; on a terminal it is formatted for people.
 */
import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino';
import { timeOfDay } from './local-time.ts';
import type { Scrubber } from './secret.ts';
import { visible } from './strings.ts';

export type Logger = Pick<
  PinoLogger,
  'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'level'
> & { child(bindings: Record<string, unknown>): Logger };

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error';
export type LogFormat = 'json' | 'journal' | 'human';

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  readonly scrubber: Scrubber;
  /** IANA zone of the times in the `human` format; left out: UTC. */
  readonly timeZone?: string;
  /** Receives whole log lines, each ending in a line feed. */
  readonly write: (line: string) => void;
}

/** Syslog priority for each of pino's levels; systemd reads it as a leading `<N>`. */
const JOURNAL_PRIORITY: Record<string, number> = { 10: 7, 20: 7, 30: 6, 40: 4, 50: 3, 60: 2 };
const LEVEL_NAME: Record<string, string> = {
  10: 'trace',
  20: 'debug',
  30: 'info ',
  40: 'WARN ',
  50: 'ERROR',
  60: 'FATAL',
};
const HIDDEN_FROM_HUMANS = new Set(['level', 'time', 'msg', 'room']);

/** Formats a log record for people: `08:15:02 info  sync  stock: complete  rows=20000`. */
function humanLine(line: string, timeZone: string): string {
  const record: Record<string, unknown> = JSON.parse(line);
  const time = timeOfDay(timeZone, Number(record.time));
  const rest = Object.entries(record)
    .filter(([key]) => !HIDDEN_FROM_HUMANS.has(key))
    .map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const level = LEVEL_NAME[String(record.level)] ?? String(record.level);
  const room = String(record.room ?? '').padEnd(9);
  const text = [`${time} ${level} ${room} ${String(record.msg ?? '')}`, ...rest].join('  ');
  return `${visible(text)}\n`;
}

function formatLine({ format, timeZone = 'UTC' }: LogOptions, line: string): string {
  if (format === 'human') return humanLine(line, timeZone);
  if (format === 'json') return line;
  const level = /^\{"level":(\d+)/.exec(line)?.[1] ?? '30';
  return `<${JOURNAL_PRIORITY[level] ?? 6}>${line}`;
}

export function createLogger(options: LogOptions): Logger {
  const sink: DestinationStream = {
    write(line) {
      // Secrets are removed last, because replacing digits inside a number would break the JSON.
      options.write(options.scrubber.scrub(formatLine(options, line)));
    },
  };
  return pino({ level: options.level, base: null }, sink);
}

/** Makes a logger without output. */
export function silentLogger(): Logger {
  return pino({ level: 'silent' });
}
