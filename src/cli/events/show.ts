/** `selvedge events show`: shows one event with its body, and what followed from it. */

import { isUtf8 } from 'node:buffer';
import { Command } from 'commander';
import { type EventTrace, traceEvent } from '../../inbox/overview.ts';
import { RefusedError } from '../../lib/errors.ts';
import { isTooDeep, tryParseJson } from '../../lib/json.ts';
import { isoTime } from '../../lib/units.ts';
import { type CliContext, examples } from '../command.ts';
import type { Output } from '../output.ts';
import { withMirror } from '../reading.ts';

/** Shows the body as JSON if it is valid and not too deep, else as text, else in base64. */
function readableBody(body: Buffer): { readonly form: string; readonly body: unknown } {
  if (!isUtf8(body)) return { form: 'base64', body: body.toString('base64') };
  const text = body.toString('utf8');
  const json = tryParseJson(text);
  const isText = json === undefined || isTooDeep(json);
  return isText ? { form: 'text', body: text } : { form: 'json', body: json };
}

function print(output: Output, trace: EventTrace): void {
  const { orderId, waiting } = trace;
  output.line(`event      ${trace.eventId}`);
  output.line(`type       ${trace.type ?? '(none)'}`);
  output.line(`received   ${isoTime(trace.receivedAt)}, sent ${isoTime(trace.sentAt)}`);
  if (trace.lastDuplicateAt !== null) {
    output.line(`again      ${trace.duplicates} times, last ${isoTime(trace.lastDuplicateAt)}`);
  }
  output.line(`signed by  ${trace.secretName}`);
  output.line(`order      ${orderId ?? 'none: nothing was read'}`);
  if (waiting) {
    const why = waiting.lastError === null ? '' : ` (${waiting.lastError})`;
    output.line(`to read    the order waits to be read${why}`);
  }
  for (const change of trace.orderSince) {
    const { at, entity, key, op, cause } = change;
    const own = trace.changes.includes(change) ? 'by this event' : cause;
    output.line(`change     ${isoTime(at)}  ${op} ${entity} ${key}  ${own}`);
  }
  for (const { at, decisionId, orderDeliveryId, outcome, mode } of trace.decisions) {
    const what = `${outcome} (${mode})  delivery ${orderDeliveryId}, decision ${decisionId}`;
    output.line(`decision   ${isoTime(at)}  ${what}`);
  }
  const { form, body } = readableBody(trace.body);
  output.line();
  output.line(form === 'json' ? JSON.stringify(body, null, 2) : String(body));
}

export function eventsShow(context: CliContext): Command {
  return new Command('show')
    .summary('show one event and what it led to')
    .description(
      'The body as it came, and what has happened to its order since: several events of one\n' +
        'order are one read, which carries the id of the last of them.',
    )
    .argument('<id>', 'the id of the event (the relay calls it message id)')
    .option('--json', 'as JSON; times are epoch milliseconds')
    .addHelpText('after', examples([['events show msg_2x…', 'what did this one lead to?']]))
    .action(async (id: string, options: { json?: boolean }, command: Command) => {
      const trace = await withMirror(command, context, (db) => traceEvent(db, id));
      if (!trace) {
        const hint = 'the ids are those of the relay: selvedge events list';
        throw new RefusedError('events.unknown', `there is no event ${id}`, { hint });
      }
      const { body, ...rest } = trace;
      if (options.json === true) context.output.json({ ...rest, ...readableBody(body) });
      else print(context.output, trace);
    });
}
