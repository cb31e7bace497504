/** The command line's entry; one file a command, no logic here. */
import { Command } from 'commander';

export async function main(args: readonly string[]): Promise<void> {
  const program = new Command('selvedge');
  program.description('ERP synchronization daemon');
  await program.parseAsync([...args], { from: 'user' });
}
