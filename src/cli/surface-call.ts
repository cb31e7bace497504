/**
 * Performs declared acts for commands: at a console over a URL, by the running daemon, or in the
 * database itself where no daemon runs and the act allows it.
 */
import type { Command } from 'commander';
import { z } from 'zod';
import { actionOf, actPath } from '../console/surface/addresses.ts';
import { systemClock } from '../lib/clock.ts';
import { SelvedgeError, UsageError } from '../lib/errors.ts';
import { type ActHead, type Preview, previewSchema } from '../surface/acts.ts';
import { fromWire } from '../surface/forms.ts';
import { answerForm, answersSchema, type ManyAnswer } from '../surface/many.ts';
import { perform, type Request } from '../surface/perform.ts';
import type { CliContext } from './command.ts';
import { askRunningDaemon, viaDaemonOrOffline } from './daemon-call.ts';
import { type RemoteConsole, remoteConsoleOf } from './remote/console.ts';

export type Wanted = Omit<Request, 'act'>;

function answerOf(of: ActHead, wanted: Wanted): z.ZodType {
  if (wanted.things) return answersSchema;
  if (wanted.dryRun) return previewSchema;
  const isEach = wanted.select !== undefined && of.many?.isOneAnswer === false;
  return isEach ? answersSchema : answerForm(of, wanted);
}

/** Whether a refusal concerns one thing only, so that the others are still tried. */
function isOfOne(code: string): boolean {
  return !code.startsWith('remote.') && !['console.no_session', 'console.role'].includes(code);
}

/** Acts on things one after the other, with an answer for each. */
async function eachAtConsole(
  remote: RemoteConsole,
  of: ActHead,
  things: NonNullable<Wanted['things']>,
  wanted: Wanted,
): Promise<{ readonly answers: readonly ManyAnswer[] }> {
  const [thing = ''] = of.args;
  const answers: ManyAnswer[] = [];
  for (const one of things) {
    const name = { [thing]: one[thing] };
    try {
      const given = { ...wanted.given, ...one };
      const done = await atConsole(remote, of, { ...wanted, things: undefined, given });
      answers.push({ ...name, ok: true, ...Object(done) });
    } catch (thrown) {
      if (!(thrown instanceof SelvedgeError)) throw thrown;
      const isMistake = thrown instanceof UsageError || !isOfOne(thrown.code);
      // Later errors become answers, because throwing would hide what was already done.
      if (answers.length === 0 && isMistake) throw thrown;
      const { code, message, hint } = thrown;
      answers.push({ ...name, ok: false, code, message, hint });
    }
  }
  return { answers };
}

async function atConsole(remote: RemoteConsole, of: ActHead, wanted: Wanted): Promise<unknown> {
  const { given, reason, dryRun, things, select } = wanted;
  if (things) return eachAtConsole(remote, of, things, wanted);
  const form = answerForm(of, wanted);
  const answer = z.preprocess((value) => fromWire(form, value), answerOf(of, wanted));
  if (select) {
    const path = of.many?.at?.path;
    if (path === undefined) {
      throw new UsageError('remote.one_by_one', 'over a URL one row is named at a time', {
        hint: 'name it',
      });
    }
    return remote.post(path, { action: actionOf(of), ...given, reason, dryRun, select }, answer);
  }
  const [first = ''] = of.path.includes('{id}') ? of.args : [];
  const members = Object.entries(given).filter(([name]) => name !== first);
  return remote.post(
    actPath(of, given),
    { ...Object.fromEntries(members), reason, dryRun },
    answer,
  );
}

/** Preview of an act, or its answer, as it declares it; for each thing where there are more. */
export async function performAct(
  command: Command,
  context: CliContext,
  of: ActHead,
  wanted: Wanted,
): Promise<unknown> {
  const remote = remoteConsoleOf(command, context);
  if (remote) return atConsole(remote, of, wanted);
  const call = { path: `/api/acts/${of.name}`, answer: answerOf(of, wanted) };
  if (of.offline !== true) return askRunningDaemon(command, context, { ...call, body: wanted });
  const { reason, ...body } = wanted;
  return viaDaemonOrOffline(command, context, {
    ...call,
    reason,
    body,
    async offline(parts, asker) {
      const { offlineActs } = await import('../daemon/commands/offline-acts.ts');
      const who = { role: null, seesAddresses: true, actor: () => asker };
      const acts = await offlineActs(parts, of.name);
      return perform(acts, { act: of.name, ...wanted }, who, systemClock().now());
    },
  });
}

export async function previewAct(
  command: Command,
  context: CliContext,
  of: ActHead,
  given: Wanted['given'],
): Promise<Preview> {
  const wanted = { given, reason: '', dryRun: true };
  const { seen = {}, ...told } = previewSchema.parse(
    await performAct(command, context, of, wanted),
  );
  return { ...told, seen };
}
