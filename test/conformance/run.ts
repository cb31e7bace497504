/**
 * The conformance suite as a command:
 *
 *   npm run conformance -- --v1 URL --v2 URL --key=ID:SECRET [--read-token=TOKEN] [--priced]
 *
 * It reads only. --writes lets it create orders, styles and brands and decide deliveries; --limits
 * lets it log in too fast and ask too fast, once each. Exits 0 when nothing differs that is more
 * than a choice.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { conforms, report } from './report.ts';
import { runCases } from './suite.ts';

const { values } = parseArgs({
  options: {
    v1: { type: 'string' },
    v2: { type: 'string' },
    key: { type: 'string' },
    'read-token': { type: 'string' },
    priced: { type: 'boolean', default: false },
    writes: { type: 'boolean', default: false },
    limits: { type: 'boolean', default: false },
  },
});

const [, clientId, clientSecret] = /^([^:]+):(.+)$/s.exec(values.key ?? '') ?? [];
const base = (url: string): string => url.replace(/\/+$/, '');

if (values.v1 === undefined || clientId === undefined || clientSecret === undefined) {
  process.stderr.write('usage: npm run conformance -- --v1 URL [--v2 URL] --key=ID:SECRET\n');
  process.exitCode = 2;
} else {
  const run = await runCases({
    account: {
      v1: base(values.v1),
      v2: values.v2 === undefined ? undefined : base(values.v2),
      clientId,
      clientSecret,
      readToken: values['read-token'],
      priced: values.priced,
    },
    passing: { wait: (ms) => sleep(ms) },
    writes: values.writes,
    limits: values.limits,
  });
  process.stdout.write(report(run));
  process.exitCode = conforms(run) ? 0 : 1;
}
