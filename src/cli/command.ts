/** The context of every command, and helpers that several commands share. */
import { userInfo } from 'node:os';
import type { Command } from 'commander';
import type { Scrubber } from '../lib/secret.ts';
import type { Output } from './output.ts';

export interface CliContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly output: Output;
  /** Knows the secrets of the configuration and removes them from the output. */
  readonly scrubber: Scrubber;
  /** Asks the person at the terminal; gives undefined when nobody sits there. */
  ask(question: string): Promise<string | undefined>;
  /** Asks the person at the terminal for a secret: what is typed is not shown. */
  askSecret(question: string): Promise<string | undefined>;
  /** Ends the command with this exit code; without a call it is 0. */
  setExitCode(code: number): void;
}

/** Creates a command: its name, arguments, options, help and action. */
export type CommandFactory = (context: CliContext) => Command;

/**
 * Text `Examples:` below a command's help; each line begins with what is typed after `selvedge`.
 */
export function examples(lines: readonly (readonly [typed: string, what: string])[]): string {
  // A command of several lines does not widen the column of commands.
  const width = Math.max(...lines.map(([typed]) => (typed.includes('\n') ? 0 : typed.length)));
  const shown = lines.map(([typed, what]) => `  selvedge ${typed.padEnd(width)}  # ${what}`);
  return `\nExamples:\n${shown.join('\n')}\n`;
}

/** Names the user for the audit; in a container a user may have a number only. */
export function userName(look: () => { readonly username: string } = userInfo): string {
  try {
    return look().username;
  } catch {
    return `user ${process.getuid?.()}`;
  }
}
