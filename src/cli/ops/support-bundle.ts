/**
 * `selvedge support-bundle`: collects diagnostics for a bug report, without secrets and business
 * data.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { Command } from 'commander';
import { describeConfig } from '../../config/describe.ts';
import { makeBundle } from '../../daemon/doctor/bundle.ts';
import { systemClock } from '../../lib/clock.ts';
import { SelvedgeError, toError } from '../../lib/errors.ts';
import { visible } from '../../lib/strings.ts';
import { type CliContext, examples } from '../command.ts';
import { configFileOf, configOf } from '../configuration.ts';

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
  } catch (cause) {
    const message = `${file} cannot be written: ${toError(cause).message}`;
    const hint = existsSync(file) ? 'name a file that is not there yet' : undefined;
    throw new SelvedgeError('bundle.cannot_write', message, { hint, cause });
  }
}

export function supportBundle(context: CliContext): Command {
  return new Command('support-bundle')
    .summary('collect diagnostics for a bug report (no secrets, no business data)')
    .description(
      'Versions, the masked configuration, the checks of "doctor --offline", states, and what\n' +
        'went wrong lately, as one JSON file that only you can read. No orders, customers,\n' +
        'prices or addresses, no bodies, no secrets. Look at it before you send it.',
    )
    .argument('[file]', 'where to write it', 'selvedge-support.json')
    .addHelpText('after', examples([['support-bundle /tmp/report.json', 'then read it']]))
    .action(async (file: string, _options: object, command: Command) => {
      const loaded = configOf(command, context);
      const settings = describeConfig({
        file: configFileOf(command, context),
        env: context.env,
      });
      const bundle = await makeBundle(loaded, settings, systemClock().now());
      const text = context.scrubber.scrub(JSON.stringify(bundle, null, 2));
      // The files are read on a terminal, so control characters are escaped.
      write(file, `${visible(text, '\n')}\n`);
      context.output.line(`${file}: look at it before you send it`);
    });
}
