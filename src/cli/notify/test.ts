/** `selvedge notify test`: tries whether messages to people arrive. */
import { Command } from 'commander';
import { z } from 'zod';
import { testChannels } from '../../daemon/notify.ts';
import { EXIT } from '../../lib/errors.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';
import { viaDaemonOrOffline } from '../daemon-call.ts';

const answer = z.object({
  channels: z.array(
    z.object({
      channel: z.string(),
      to: z.string(),
      error: z.string().nullable(),
      note: z.string().nullable(),
    }),
  ),
});

interface Options {
  readonly json?: boolean;
}

async function test(context: CliContext, self: Command, { json }: Options): Promise<void> {
  const { output, scrubber } = context;
  const { channels } = await viaDaemonOrOffline(self, context, {
    path: '/api/notify/test',
    body: {},
    answer,
    reason: '',
    async offline({ config, store, clock }, asker) {
      const { signal } = new AbortController();
      const tried = await testChannels(config, { store, clock, scrubber }, asker, signal);
      return { channels: [...tried] };
    },
  });
  const { heartbeat } = configOf(self, context).config.notify;
  if (json === true) output.json(channels);
  else if (channels.length === 0) output.line('there are no channels: notify.channels');
  else {
    output.table(
      ['CHANNEL', 'TO', 'RESULT'],
      channels.map(({ channel, to, error, note }) => [channel, to, error ?? note ?? 'taken']),
    );
  }
  if (heartbeat !== null && json !== true) output.line('the heartbeat is not part of this test');
  if (channels.some(({ error }) => error !== null)) context.setExitCode(EXIT.failure.code);
}

export function notifyTest(context: CliContext): Command {
  return new Command('test')
    .summary('send a test through every channel')
    .description(
      'Sends one message that says so through each of notify.channels, whatever the time of\n' +
        'day, and tells what came of it: "taken" means that the other side answered so. Exit\n' +
        'code 1 when one was not taken. The audit says who tried.',
    )
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['notify test', 'does it arrive?']]))
    .action((options: Options, self: Command) => test(context, self, options));
}
