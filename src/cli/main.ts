/** Entry point of the command line. */
import { runCli } from './program.ts';

/** Runs a command line. The exit code is left in `process.exitCode`; the process ends by itself. */
export async function main(args: readonly string[]): Promise<void> {
  const { stdout, stderr, env } = process;
  process.exitCode = await runCli(args, { stdin: () => process.stdin, stdout, stderr, env });
}
