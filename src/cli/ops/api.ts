/** `selvedge api`: sends one request to the service, through the daemon's transport and limits. */
import { Command } from 'commander';
import { z } from 'zod';
import type { RawCall } from '../../client/raw-call.ts';
import { createServiceCaller } from '../../daemon/commands/call.ts';
import { UsageError } from '../../lib/errors.ts';
import { tryParseJson } from '../../lib/json.ts';
import { remark } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { viaDaemonOrOffline } from '../daemon-call.ts';

interface Options {
  readonly v2?: boolean;
  readonly data?: string;
  readonly reason: string;
}

const answered = z.object({
  status: z.number(),
  json: z.unknown().optional(),
  contentType: z.string().nullable(),
  tookMs: z.number(),
  clockOffsetMs: z.number().nullable(),
});
export type Answered = z.output<typeof answered>;

const METHODS = z.enum(['GET', 'POST', 'PATCH']);

function callOf(method: string, path: string, { v2, data }: Options): RawCall {
  const known = METHODS.safeParse(method.toUpperCase());
  if (!known.success) {
    throw new UsageError('api.bad_method', `${method} is none of GET, POST, PATCH`);
  }
  const json = data === undefined ? undefined : tryParseJson(data);
  if (data !== undefined && json === undefined) {
    throw new UsageError('api.bad_data', '--data is not JSON', { hint: `--data '{"a": 1}'` });
  }
  if (known.data !== 'GET' && json === undefined) {
    throw new UsageError('api.no_data', `${known.data} needs a body`, { hint: '--data JSON' });
  }
  return { api: v2 === true ? 'v2' : 'v1', method: known.data, path, json };
}

/** Sends an authenticated request through the running daemon, or directly when none runs. */
export function callService(
  context: CliContext,
  command: Command,
  call: RawCall,
  reason: string,
  signal?: AbortSignal,
): Promise<Answered> {
  return viaDaemonOrOffline(command, context, {
    path: '/api/service/call',
    body: { ...call },
    answer: answered,
    reason,
    signal,
    offline: (parts, asker) => createServiceCaller(parts)(call, asker, signal),
  });
}

export function api(context: CliContext): Command {
  return new Command('api')
    .summary('send one raw API request')
    .description(
      'One authenticated call, with the log-in, the limits and the patience of the daemon; the\n' +
        'answer as JSON. POST and PATCH change something at the service behind the back of the\n' +
        'outbox: they are written into the audit, and nobody looks after what becomes of them.',
    )
    .argument('<method>', 'GET, POST or PATCH')
    .argument('<path>', 'below the address of the API, such as /orders/17')
    .option('--v2', 'of V2 (style and product data) instead of V1')
    .option('--data <json>', 'the body; POST and PATCH need one')
    .option('--reason <text>', 'why; goes into the audit', remark, '')
    .addHelpText(
      'after',
      examples([
        ['api GET /brands', 'is the service there, does the log-in work?'],
        ['api GET "/orders?beforeOrderId=500"', 'orders before that one'],
        ['api GET /pdm/styles --v2', 'style and product data'],
      ]),
    )
    .action(async (method: string, path: string, options: Options, command: Command) => {
      const call = callOf(method, path, options);
      const answer = await callService(context, command, call, options.reason);
      context.output.json(answer.json);
      context.output.note(`${answer.status}, ${answer.tookMs} ms`);
    });
}
