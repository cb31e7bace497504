/** Runs the command line in this process and keeps what it wrote. */
import { runCli } from '../../src/cli/program.ts';

export interface CliRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export async function selvedge(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<CliRun> {
  const written = { stdout: '', stderr: '' };
  const sink = (name: keyof typeof written) => ({
    write: (text: string) => {
      written[name] += text;
    },
  });
  const code = await runCli(args, { stdout: sink('stdout'), stderr: sink('stderr'), env });
  return { code, ...written };
}
