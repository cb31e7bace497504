/** The logger of a command that runs for long, as the configuration and the surroundings say. */
import type { Config } from '../config/schema.ts';
import { createLogger, type LogFormat, type Logger, type LogLevel } from '../lib/log.ts';
import type { CliContext } from './command.ts';

/** Under systemd journald reads priorities; on a terminal people read; else programs do. */
function formatFor(context: CliContext, wanted: Config['log']['format']): LogFormat {
  if (wanted !== 'auto') return wanted;
  if (context.env.JOURNAL_STREAM !== undefined) return 'journal';
  return context.output.isTerminal ? 'human' : 'json';
}

export function commandLogger(
  context: CliContext,
  options: { readonly level: LogLevel; readonly format: Config['log']['format'] },
): Logger {
  const { output, scrubber } = context;
  return createLogger({
    level: options.level,
    format: formatFor(context, options.format),
    scrubber,
    write: (line) => output.line(line.trimEnd()),
  });
}
