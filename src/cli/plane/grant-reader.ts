/** `selvedge plane grant-reader`: lets a role of PostgreSQL read the plane, and nothing else. */
import { Command } from 'commander';
import { withPlane } from '../../daemon/plane.ts';
import { grantReader } from '../../plane/grant.ts';
import { requireSchema } from '../../plane/schema.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';

export function planeGrantReader(context: CliContext): Command {
  return new Command('grant-reader')
    .summary('let a role of PostgreSQL read the plane, and nothing else there')
    .argument('<role>', 'a role that exists')
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['plane grant-reader bi', 'for a BI program']]))
    .action(async (role: string, { json }: { readonly json?: boolean }, command: Command) => {
      const { config } = configOf(command, context);
      const schema = await withPlane(config, async (plane) => {
        await requireSchema(plane.client);
        await grantReader(plane.client, plane.schema, role);
        return plane.schema;
      });
      if (json === true) context.output.json({ role, schema });
      else context.output.line(`${role} may read schema ${schema}, and change nothing in it`);
    });
}
