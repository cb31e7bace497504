/** `selvedge console …`: makes links, passwords and tokens for the console. */
import { Command, Option } from 'commander';
import { z } from 'zod';
import { sessions } from '../../console/access/lists.ts';
import { hashPassword } from '../../console/access/password.ts';
import { UsageError } from '../../lib/errors.ts';
import { systemRandom } from '../../lib/random.ts';
import { ROLES, type Role } from '../../surface/roles.ts';
import { durationWithin } from '../arguments.ts';
import { type CliContext, examples, userName } from '../command.ts';
import { askRunningDaemon } from '../daemon-call.ts';
import { allowOverUrl } from '../remote/over-url.ts';
import { placeOptions, showRows } from '../surface-lists.ts';

const DAY_MS = 86_400_000;
const PASSWORD_CHARS_MIN = 10;

function roleOption(preset: Role): Option {
  return new Option('--role <role>', 'what it may do').choices(ROLES).default(preset);
}

const linkAnswer = z.object({ url: z.string(), expiresAt: z.number() });

export function consoleOpen(context: CliContext): Command {
  return new Command('open')
    .summary('print a link that signs you in to the console, once')
    .description(
      'The link works once and for five minutes. Who has it may decide: pass it on to nobody.\n' +
        'Asks the running daemon.',
    )
    .option('--as <name>', 'who acts then, in journal and audit (default: your user name)')
    .addOption(roleOption('approver'))
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([
        ['console open', 'for yourself'],
        ['console open --as anna --role operator', 'for somebody beside you'],
      ]),
    )
    .action(async (options: { as?: string; role: Role; json?: boolean }, self: Command) => {
      const { as: name = userName(), role } = options;
      const found = await askRunningDaemon(self, context, {
        path: '/api/console/link',
        body: { name, role, reason: '' },
        answer: linkAnswer,
      });
      if (options.json === true) context.output.json(found);
      else context.output.line(found.url);
    });
}

export function consolePassword(context: CliContext): Command {
  return new Command('password')
    .summary('turn a password into what the configuration holds')
    .description(
      'Asks for a password and prints its scrypt hash, for console.operators. The password is\n' +
        'stored nowhere.',
    )
    .addHelpText('after', examples([['console password', 'asks, and prints scrypt:…']]))
    .action(async () => {
      const password = await context.askSecret('Password: ');
      if (password === undefined) {
        throw new UsageError('console.no_terminal', 'a password is typed at a terminal', {
          hint: 'run it in a terminal',
        });
      }
      if (password.length < PASSWORD_CHARS_MIN) {
        const message = `a password has at least ${PASSWORD_CHARS_MIN} characters`;
        throw new UsageError('console.short_password', message);
      }
      context.output.line(await hashPassword(password, systemRandom()));
    });
}

const tokenAnswer = z.object({
  token: z.string(),
  sessionId: z.int(),
  expiresAt: z.number(),
  url: z.string(),
});

export function consoleToken(context: CliContext): Command {
  return new Command('token')
    .summary('make a token for a program that uses the read API')
    .description('Printed once and stored as a digest only. Asks the running daemon.')
    .argument('<name>', 'what uses it, for the audit')
    .addOption(roleOption('viewer'))
    .addOption(
      new Option('--expires <duration>', 'how long it is good')
        .argParser(durationWithin(60_000, 3_660 * DAY_MS))
        .default(90 * DAY_MS, '90d'),
    )
    .addOption(
      new Option('--sees <what>', 'names and addresses of customers, else masked').choices([
        'addresses',
      ]),
    )
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['console token bi --expires 90d', 'for a BI program']]))
    .action(
      async (
        name: string,
        options: { role: Role; expires: number; sees?: 'addresses'; json?: boolean },
        self: Command,
      ) => {
        const { role, expires: lastsMs } = options;
        const seesAddresses = options.sees === 'addresses';
        const found = await askRunningDaemon(self, context, {
          path: '/api/console/token',
          body: { name, role, lastsMs, seesAddresses, reason: '' },
          answer: tokenAnswer,
        });
        const { output } = context;
        if (options.json === true) return output.json(found);
        const until = new Date(found.expiresAt).toISOString();
        output.note(`${name}, ${options.role}, until ${until}; it is not shown again`);
        return output.line(found.token);
      },
    );
}

export function consoleTokens(context: CliContext): Command {
  const command = new Command('tokens')
    .summary('list the tokens of programs')
    .description('Open ones only: those of "console sessions --way token".');
  placeOptions(sessions, command)
    .addHelpText('after', examples([['console tokens', 'who may read, and until when']]))
    .action(() => showRows(command, context, sessions, { way: 'token' }));
  return allowOverUrl(command);
}
