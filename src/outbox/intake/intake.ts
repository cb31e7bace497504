/**
 * Intake: the one path behind all intake channels. A document enters the outbox together with a row
 * of `intake` that says where it came from. Submitting the same document again, by whatever
 * channel, returns the first receipt; another document under the same reference is refused with
 * both shown, unless it corrects a refused or canceled document that was never sent. Every call may
 * be repeated after a stop at any point.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { RetryLaterError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Store, Tx } from '../../store/store.ts';
import type { Keep } from '../../store/transaction/keep.ts';
import { meetingOf } from '../corrections.ts';
import { type Problem, referenceKey } from '../documents.ts';
import { enqueueDocument, onFile } from '../enqueue.ts';
import {
  type Checked,
  type Conflict,
  checkEnvelope,
  conflictOf,
  type Envelope,
} from './envelope.ts';

type Channel = 'sql' | 'folder' | 'http' | 'cli';

export interface Submission extends Envelope {
  readonly channel: Channel;
  /** Origin of the submission in its channel: a row, a file and line, a client or a person. */
  readonly source: string;
  readonly receivedAt: number;
  /** Idempotency-Key of an HTTP client; other channels have none. */
  readonly idempotencyKey?: { readonly client: string; readonly key: string } | undefined;
}

/**
 * A document that was refused at submission: nothing of it is kept, and its reference stays free.
 */
export interface Refusal {
  readonly ok: false;
  readonly code: 'invalid' | 'conflict' | 'key_reused';
  readonly reference: string | undefined;
  readonly problems: readonly Problem[];
  readonly nextStep: string;
  readonly conflict?: Conflict;
}

export type SubmitResult =
  | { readonly ok: true; readonly repeated: boolean; readonly documentId: number }
  | Refusal;

export interface Intake {
  /**
   * Submits documents in order; the answers have the same order. Throws a RetryLaterError, and
   * takes no further document, while the disk is too full.
   */
  submit(submissions: readonly Submission[]): Promise<readonly SubmitResult[]>;
}

export interface IntakeDeps {
  readonly store: Store;
  readonly onTaken: () => void;
  readonly hasRoom: () => boolean;
  /** Returns why documents of this kind are not accepted at all; undefined: they are. */
  readonly whyOff: (kind: string, document: JsonObject) => Problem | undefined;
}

/**
 * Number of documents per transaction: each costs a fraction of a millisecond of the event loop.
 */
const SLICE = 50;

type Sound = Extract<Checked, { ok: true }>;

export function invalid(reference: string | undefined, problems: readonly Problem[]): Refusal {
  const nextStep = 'correct the document where its problems say, and submit it again';
  return { ok: false, code: 'invalid', reference, problems, nextStep };
}

function inConflict(reference: string, conflict: Conflict): Refusal {
  const { documentId, state } = conflict.existing;
  const says = conflict.differences.join('; ');
  const message = `belongs to document ${documentId} (${state}), which says otherwise: ${says}`;
  const nextStep =
    'another document needs a reference of its own; to replace the first one, cancel it as long ' +
    `as it was not sent (selvedge outbox cancel ${documentId} --reason "…"), and submit this one ` +
    'again';
  const problems = [{ path: 'reference', message }];
  return { ok: false, code: 'conflict', reference, problems, nextStep, conflict };
}

function keyReused(reference: string, documentId: number): Refusal {
  const message = `this Idempotency-Key belongs to document ${documentId}`;
  const nextStep = 'give every document an Idempotency-Key of its own';
  const problems = [{ path: '', message }];
  return { ok: false, code: 'key_reused', reference, problems, nextStep };
}

function turnedOff(reference: string, problem: Problem): Refusal {
  const nextStep = 'once that is done, submit the same document again: its reference is free';
  const problems = [problem];
  return { ok: false, code: 'invalid', reference, problems, nextStep };
}

/**
 * Returns another document that has this Idempotency-Key; undefined: the key is free, or belongs to
 * the submitted document.
 */
async function keyHolder(tx: Tx, one: Submission, sound: Sound): Promise<number | undefined> {
  if (one.idempotencyKey === undefined) return undefined;
  const row = await tx
    .selectFrom('intake_key')
    .innerJoin('outbox', 'outbox.outbox_id', 'intake_key.outbox_id')
    .select(['outbox.outbox_id', 'outbox.kind', 'outbox.reference_key'])
    .where('client', '=', one.idempotencyKey.client)
    .where('key', '=', one.idempotencyKey.key)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const same = row.kind === sound.kind && row.reference_key === referenceKey(sound.reference);
  return same ? undefined : row.outbox_id;
}

/**
 * Records where a document came from; a document that is queued once more came with this
 * submission.
 */
async function remember(
  tx: Tx,
  outboxId: number,
  one: Submission,
  isReopened: boolean,
): Promise<void> {
  const { channel, source, receivedAt, idempotencyKey } = one;
  await tx
    .insertInto('intake')
    .values({
      outbox_id: outboxId,
      channel,
      source,
      received_at: receivedAt,
      last_repeat_at: null,
      callback_due_at: null,
      callback_error: null,
    })
    .onConflict((taken) =>
      taken.column('outbox_id').doUpdateSet((eb) => ({
        repeats: eb('intake.repeats', '+', 1),
        last_repeat_at: receivedAt,
        ...(isReopened ? { channel, source, received_at: receivedAt } : {}),
      })),
    )
    .execute();
  if (idempotencyKey === undefined) return;
  await tx
    .insertInto('intake_key')
    .values({ ...idempotencyKey, outbox_id: outboxId, at: receivedAt })
    .onConflict((taken) => taken.doNothing())
    .execute();
}

async function isNewWork(tx: Tx, { kind, reference, document }: Sound): Promise<boolean> {
  const existing = await onFile(tx, kind, reference);
  if (!existing) return true;
  const meeting = await meetingOf(tx, existing, document);
  return meeting === 'again' || meeting === 'correct';
}

async function submitOne(
  tx: Tx,
  one: Submission,
  checked: Checked,
  whyOff: IntakeDeps['whyOff'],
): Promise<SubmitResult> {
  if (!checked.ok) return invalid(checked.reference, checked.problems);
  const { kind, reference, document } = checked;
  const holder = await keyHolder(tx, one, checked);
  if (holder !== undefined) return keyReused(reference, holder);
  const off = whyOff(kind, document);
  if (off !== undefined && (await isNewWork(tx, checked))) return turnedOff(reference, off);
  const intent = { kind, reference, document, cause: `${one.channel}:${one.source}` };
  const result = await enqueueDocument(tx, intent, one.receivedAt);
  if ('conflict' in result) return inConflict(reference, conflictOf(result.conflict, document));
  const { outboxId: documentId, repeated, reopened = false } = result;
  await remember(tx, documentId, one, reopened);
  return { ok: true, documentId, repeated };
}

export function createIntake({ store, onTaken, hasRoom, whyOff }: IntakeDeps): Intake {
  return {
    async submit(submissions) {
      const answers: SubmitResult[] = [];
      for (let start = 0; start < submissions.length; start += SLICE) {
        if (start > 0) await nextTurn();
        if (!hasRoom()) {
          throw new RetryLaterError('intake.no_room', 'the disk is too full to take documents', {
            hint: 'make room; what was not taken may be submitted again then',
          });
        }
        const slice = submissions
          .slice(start, start + SLICE)
          .map((one) => ({ one, checked: checkEnvelope(one) }));
        const results = await store.transaction(async (tx, onCommit) => {
          const done: SubmitResult[] = [];
          for (const { one, checked } of slice)
            done.push(await submitOne(tx, one, checked, whyOff));
          if (done.some((answer) => answer.ok && !answer.repeated)) onCommit(onTaken);
          return done;
        });
        answers.push(...results);
      }
      return answers;
    },
  };
}

/** Wraps an intake: documents are answered once a second machine would have them. */
export function keepingIntake(intake: Intake, keep: Keep): Intake {
  return {
    async submit(submissions) {
      const answers = await intake.submit(submissions);
      if ((await keep()) === 'kept') return answers;
      const message = 'what was taken is kept here, and perhaps not at the standby';
      throw new RetryLaterError('intake.not_kept', message, {
        hint: 'submit the same again later: it is never taken twice',
      });
    },
  };
}
