/** Lists the commands that work over a URL, and refuses all others. */
import type { Command } from 'commander';
import { UsageError } from '../../lib/errors.ts';

export interface UrlOptions {
  readonly url?: string;
  readonly tokenFile?: string;
}

/** Commands that a console can answer, by their words. */
const OVER_URL = [
  'status',
  'deliveries list',
  'deliveries show',
  'deliveries explain',
  'outbox show',
  'completion',
];

function wordsOf(command: Command): string {
  const { parent } = command;
  return parent?.parent ? `${wordsOf(parent)} ${command.name()}` : command.name();
}

const allowed = new WeakSet<Command>();

/** Lets a command work over a URL that is made from a declaration, which each console answers. */
export function allowOverUrl(command: Command): Command {
  allowed.add(command);
  return command;
}

/** Refuses `--url` for a command that needs the daemon's machine. */
export function requireOverUrl(command: Command): void {
  const { url, tokenFile, config } = command.optsWithGlobals<UrlOptions & { config?: string }>();
  const hasOwn = command.options.some(({ long }) => long === '--url');
  if (hasOwn && tokenFile === undefined) return;
  if (url === undefined && tokenFile === undefined) return;
  if (url === undefined) {
    const hint = '--url https://host:port --token-file <file>';
    throw new UsageError('remote.no_url', '--token-file is for a console, and none is named', {
      hint,
    });
  }
  if (config !== undefined) {
    throw new UsageError('remote.two_ways', '--url and --config cannot both be given', {
      hint: '--url asks a console, --config this machine',
    });
  }
  const words = wordsOf(command);
  if (OVER_URL.includes(words) || allowed.has(command)) return;
  const shown = OVER_URL.slice(0, -1).join(', ');
  throw new UsageError('remote.not_over_url', `"${words}" does not work over a URL`, {
    hint: `over a URL: ${shown}, and other acts; the rest on the host of the daemon`,
  });
}
