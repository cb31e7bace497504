/** `selvedge conformance`: checks whether an account keeps the wire contract. */
import { Command } from 'commander';
import { createProbeClient } from '../../client/probe-client.ts';
import type { Config } from '../../config/schema.ts';
import { accountOf } from '../../conformance/account.ts';
import { conforms, report } from '../../conformance/report.ts';
import { runCases } from '../../conformance/suite.ts';
import { routeOf } from '../../daemon/service.ts';
import { systemClock } from '../../lib/clock.ts';
import { EXIT } from '../../lib/errors.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';

interface Options {
  readonly writes?: boolean;
  readonly limits?: boolean;
  readonly priced?: boolean;
  readonly json?: boolean;
}

/** Number of connections: enough to run into a limit of requests per second on purpose. */
const CONNECTIONS = 40;

async function runAll(config: Config, options: Options, context: CliContext) {
  const { timeouts, limits } = config.service;
  const clock = systemClock();
  await using asker = createProbeClient(
    {
      ...routeOf(config.service),
      deadlines: {
        connectMs: timeouts.connect,
        firstByteMs: timeouts.firstByte,
        idleMs: timeouts.idle,
        totalMs: timeouts.pullTotal,
      },
      gapMs: 0,
      connections: CONNECTIONS,
      bodyBytesMax: limits.bodyMax,
    },
    clock,
  );
  return await runCases({
    account: accountOf(config.service, options.priced === true),
    passing: {
      asker,
      now: clock.now,
      loginSpacingMs: limits.loginSpacing,
      wait: (ms) => clock.sleep(ms),
    },
    writes: options.writes === true,
    limits: options.limits === true,
    onCase: (id) => context.output.progress(`trying ${id}`),
  });
}

export function conformance(context: CliContext): Command {
  const { output } = context;
  return new Command('conformance')
    .summary('test an account against the wire contract')
    .description(
      'Tries what docs/wire.md says of V1 and V2 over HTTP, with the address, credentials,\n' +
        'header, authorities, certificate and proxy of the configuration, and says which\n' +
        'statements the account does not keep, with what to write into the configuration. It\n' +
        'only reads: --writes lets it create orders, styles and brands and decide deliveries\n' +
        '(of an account that is there for trials), --limits lets it log in and ask too fast.\n' +
        'Where an account has nothing to try a statement on, it says so. Ends with 0 when\n' +
        'nothing differs that is more than a choice.',
    )
    .option('--writes', 'create and change things at the service')
    .option('--limits', 'run into its limits on purpose')
    .option('--priced', 'the key is of kind b2b and has detailed pricing')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([
        ['conformance', 'reads only'],
        ['conformance --config trial.yaml --writes --limits', 'everything'],
      ]),
    )
    .action(async (options: Options, command: Command) => {
      const { config } = configOf(command, context, 'none');
      const run = await runAll(config, options, context);
      output.progress('');
      if (options.json === true) output.json(run);
      else output.line(report(run).trimEnd());
      if (!conforms(run)) context.setExitCode(EXIT.failure.code);
    });
}
