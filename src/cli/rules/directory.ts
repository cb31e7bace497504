/** The rules directory that a command of this folder is about. */
import type { Command } from 'commander';
import type { CliContext } from '../command.ts';
import { configOf } from '../configuration.ts';
import type { Output } from '../output.ts';

/** The directory that was named, else the configured one; only then is a configuration needed. */
export function rulesDirectory(
  command: Command,
  context: CliContext,
  named: string | undefined,
): string {
  return named ?? configOf(command, context).config.rules.directory;
}

/** Says of each file that somebody may take for rules that it is none. */
export function noteUnread(output: Output, unread: readonly string[]): void {
  const where = 'rules are what ends in .yaml in the folder itself';
  for (const path of unread) output.note(`warning: ${path} is not read; ${where}`);
}
