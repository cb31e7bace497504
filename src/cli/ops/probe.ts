/** `selvedge probe`: finds out how an account differs from the contract. */
import { Command } from 'commander';
import { readConfig } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import { readSettings } from '../../config/settings.ts';
import { plainValue } from '../../config/source/tree.ts';
import { workOffline } from '../../daemon/commands/offline.ts';
import { routeOf } from '../../daemon/service.ts';
import { systemClock } from '../../lib/clock.ts';
import { systemRandom } from '../../lib/random.ts';
import { compareDescription, type Difference } from '../../probe/compare.ts';
import { configurationText, differing } from '../../probe/configuration.ts';
import { probeAccount } from '../../probe/probe.ts';
import { type CliContext, examples } from '../command.ts';
import { configFileOf, configOf } from '../configuration.ts';
import type { Output } from '../output.ts';
import { readDescription, tellFinding } from '../setup/telling.ts';

interface Options {
  readonly description?: string;
  readonly json?: boolean;
}

function tellDifferences(output: Output, differences: readonly Difference[]): void {
  for (const { where, what, hint } of differences) {
    output.line(`${where}: ${what}`);
    if (hint !== undefined) output.line(`    ${hint}`);
  }
}

async function checkDescription(
  source: string,
  config: Config,
  context: CliContext,
  json: boolean,
) {
  const { output } = context;
  const description = await readDescription(source, routeOf(config.service), systemClock());
  const differences = compareDescription(description, config);
  if (json) output.json(differences);
  else tellDifferences(output, differences);
  const count = differences.length;
  output.note(
    `${source}: ${count === 0 ? 'as the daemon asks and reads' : `${count} differences`}`,
  );
}

async function probeLive(config: Config, file: string, context: CliContext, json: boolean) {
  const { output, scrubber, env } = context;
  const clock = systemClock();
  const deps = { clock, random: systemRandom(), scrubber, mayBeNew: true };
  const { findings, description } = await workOffline(config, deps, ({ service }) =>
    probeAccount({
      config,
      way: routeOf(config.service),
      clock,
      scrubber,
      mayLogIn: service.mayLogIn,
      looking: (what) => output.progress(`looking at ${what}`),
      found: (finding) => tellFinding(output, finding),
    }),
  );
  output.progress('');
  const differences = description ? compareDescription(description, config) : [];
  if (json) {
    output.json({ findings, differences });
    return;
  }
  const values = plainValue(readConfig({ file, env }).tree);
  const changes = differing(findings, values);
  if (changes.length === 0) output.note('the configuration fits: nothing is to be changed');
  else {
    const order = readSettings().map(({ path }) => path);
    const parts = { head: [], given: [], findings: changes, defaults: values, order };
    output.line(configurationText(parts).trim());
  }
  if (differences.length === 0) return;
  output.note(`its description (${description?.source}) differs from what the daemon does:`);
  for (const { where, what } of differences) output.note(`  ${where}: ${what}`);
}

export function probe(context: CliContext): Command {
  return new Command('probe')
    .summary('detect how an account differs from the contract and print the settings')
    .description(
      'Asks the service, reading only, how the account answers: log-in, header and scheme\n' +
        'of the token, level, paging, brands, season, currency, time zone, statuses, pending\n' +
        'refunds, V2. Says what each was seen on, and prints what the configuration should\n' +
        'have otherwise. The daemon must not run. Log-ins are tried one every few seconds,\n' +
        'because the service takes no more. With --description nothing is asked: what the\n' +
        'daemon sends and reads is held against an OpenAPI description.',
    )
    .option('--description <file or URL>', 'compare with this description (JSON or YAML)')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([
        ['probe --config /etc/selvedge/selvedge.yaml', 'before the first start'],
        ['probe --description openapi.json', 'what it describes otherwise'],
      ]),
    )
    .action(async (options: Options, command: Command) => {
      const json = options.json === true;
      const source = options.description;
      if (source !== undefined) {
        const { config } = configOf(command, context);
        await checkDescription(source, config, context, json);
        return;
      }
      const { config } = configOf(command, context, 'none');
      await probeLive(config, configFileOf(command, context), context, json);
    });
}
