/** Finds the directory of rules that a command works on. */
import type { Command } from 'commander';
import type { CliContext } from '../command.ts';
import { configOf } from '../configuration.ts';
import type { Output } from '../output.ts';

/**
 * Directory of rules that was named, else the configured one; only then a configuration is needed.
 */
export function rulesDirectory(
  command: Command,
  context: CliContext,
  named: string | undefined,
): string {
  return named ?? configOf(command, context).config.rules.directory;
}

/** Warns of each file that a person may take for rules and that is not read. */
export function noteUnread(output: Output, unread: readonly string[]): void {
  const where = 'rules are what ends in .yaml in the folder itself';
  for (const path of unread) output.note(`warning: ${path} is not read; ${where}`);
}
