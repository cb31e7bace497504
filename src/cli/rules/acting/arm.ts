/** `selvedge rules arm` and `rules disarm`: allow reject rules to act, and end that. */
import { Command, Option } from 'commander';
import { z } from 'zod';
import { ARMED_MS_MAX, ARMED_MS_MIN } from '../../../local-api/rule-routes.ts';
import { durationWithin, statedReason } from '../../arguments.ts';
import { type CliContext, examples } from '../../command.ts';
import { askRunningDaemon } from '../../daemon-call.ts';
import { lookBeforeArming } from './matches.ts';

interface Options {
  readonly reason: string;
  readonly expires: number;
  readonly json?: boolean;
}

const DAY_MS = 86_400_000;
const EXPIRES_MS_DEFAULT = 90 * DAY_MS;

const armed = z.object({
  ruleId: z.string(),
  ruleHash: z.string(),
  reportId: z.int(),
  expiresAt: z.int(),
  warnings: z.array(z.string()).default([]),
});
const disarmed = z.object({ withdrawn: z.int(), canceled: z.int() });

function command(name: string, summary: string): Command {
  return new Command(name)
    .summary(summary)
    .requiredOption('--reason <text>', 'why; goes into the audit', statedReason)
    .option('--json', 'the answer as JSON');
}

export function rulesArm(context: CliContext): Command {
  return command('arm', 'let a reject rule act, in exactly its present text')
    .description(
      'Asks for tests that prove every clause, a kept backtest of this text (rules backtest\n' +
        '--save), and matches that somebody has looked at (rules matches --seen); at a terminal\n' +
        'it shows them one by one. Changing the rule, or a list, table or setting it reads,\n' +
        'disarms it. Asks the running daemon.',
    )
    .argument('<rule>', 'the id of a reject rule')
    .addOption(
      new Option('--expires <duration>', 'how long it stays armed')
        .argParser(durationWithin(ARMED_MS_MIN, ARMED_MS_MAX))
        .default(EXPIRES_MS_DEFAULT, '90d'),
    )
    .addHelpText(
      'after',
      examples([['rules arm reject-closed-season --reason "agreed" --expires 30d', 'a month']]),
    )
    .action(async (rule: string, { reason, expires, json }: Options, self: Command) => {
      if (json !== true) await lookBeforeArming(context, self, rule);
      const answer = await askRunningDaemon(self, context, {
        path: '/api/rules/arm',
        body: { rule, reason, lastsMs: expires },
        answer: armed,
      });
      if (json === true) context.output.json(answer);
      else {
        const until = new Date(answer.expiresAt).toISOString();
        const hash = answer.ruleHash.slice(0, 12);
        context.output.line(`${rule} (${hash}) is armed until ${until}`);
        for (const warning of answer.warnings) context.output.line(`warning: ${warning}`);
        context.output.line('selvedge rules queue shows what it will reject');
      }
    });
}

export function rulesDisarm(context: CliContext): Command {
  return command('disarm', 'let a reject rule reject no more')
    .description(
      'What waits to be rejected by it is withdrawn, and what was not sent yet is canceled.\n' +
        'Asks the running daemon.',
    )
    .argument('<rule>', 'the id of a reject rule')
    .addHelpText(
      'after',
      examples([['rules disarm reject-closed-season --reason "wrong"', 'at once']]),
    )
    .action(async (rule: string, { reason, json }: Options, self: Command) => {
      const answer = await askRunningDaemon(self, context, {
        path: '/api/rules/disarm',
        body: { rule, reason },
        answer: disarmed,
      });
      if (json === true) context.output.json(answer);
      else {
        const { withdrawn, canceled } = answer;
        const ended = `${withdrawn} rejects withdrawn, ${canceled} canceled`;
        context.output.line(`${rule} is disarmed, ${ended}`);
      }
    });
}
