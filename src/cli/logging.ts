/** Makes the logger of a long-running command, as the configuration and the environment say. */
import type { Config } from '../config/schema.ts';
import { isJournald } from '../lib/log/journald.ts';
import { createLogger, type LogFormat, type Logger, type LogLevel } from '../lib/log.ts';
import type { CliContext } from './command.ts';

type Around = Pick<CliContext, 'env' | 'output' | 'scrubber'>;

/**
 * Chooses the log format: with priorities under journald, for people on a terminal, else for
 * programs.
 */
function formatFor({ env, output }: Around, wanted: Config['log']['format']): LogFormat {
  if (wanted !== 'auto') return wanted;
  if (isJournald(env, process.stdout.fd)) return 'journal';
  return output.isTerminal ? 'human' : 'json';
}

export function commandLogger(
  context: Around,
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
