/**
 * Sends a message through a channel: by a signed webhook (Standard Webhooks), or by mail. A failure
 * throws; the caller decides when to try again. Neither way uses our certificate for the service,
 * and only webhooks go through its proxy.
 */
import { type Dispatcher, request } from 'undici';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../lib/clock.ts';
import { errorCode, RetryLaterError, toError } from '../../lib/errors.ts';
import { Secret } from '../../lib/secret.ts';
import { signatureHeaders } from '../../lib/webhook-signature.ts';
import type { Message } from './message.ts';

export type ChannelConfig = Config['notify']['channels'][number];
type To = ChannelConfig['to'];

/** A try to send a message, with all that is sent. */
export interface Sending {
  /** Id of the message, the same at each try, so that a receiver recognises a repetition. */
  readonly id: string;
  /** Epoch ms when the message was made. */
  readonly at: number;
  readonly instance: string;
  readonly message: Message;
  readonly isTest: boolean;
}

export interface SendDeps {
  readonly clock: Clock;
  /** Connections to use for an origin. */
  readonly dispatcher: (origin: string) => Dispatcher;
  readonly signal: AbortSignal;
}

const SEND_MS_MAX = 15_000;
/** Milliseconds that a mail with a file may take, because a slow line needs longer for it. */
const SEND_FILE_MS_MAX = 120_000;

function shown(value: string | Secret): string {
  return value instanceof Secret ? value.reveal() : value;
}

/** Runs `work` with a signal that aborts when the daemon stops or the time is up. */
async function withDeadline<T>(
  { clock, signal }: Pick<SendDeps, 'clock' | 'signal'>,
  work: (signal: AbortSignal) => Promise<T>,
  timeMaxMs = SEND_MS_MAX,
): Promise<T> {
  const late = new AbortController();
  const timer = clock.after(timeMaxMs, () => late.abort(new Error('no answer in time')));
  const either = AbortSignal.any([signal, late.signal]);
  const { promise: broken, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(toError(either.reason));
  either.addEventListener('abort', onAbort, { once: true });
  try {
    either.throwIfAborted();
    return await Promise.race([work(either), broken]);
  } finally {
    timer.cancel();
    either.removeEventListener('abort', onAbort);
  }
}

/** Sends a request and expects a 2xx; the text of the answer is not read. */
export async function callAddress(
  { dispatcher, clock, signal }: SendDeps,
  address: string | Secret,
  sent: { readonly headers: Readonly<Record<string, string>>; readonly body: string } | undefined,
): Promise<void> {
  const url = new URL(shown(address));
  const statusCode = await withDeadline({ clock, signal }, async (either) => {
    const answer = await request(url, {
      method: sent === undefined ? 'GET' : 'POST',
      headers: { 'user-agent': 'selvedge', ...sent?.headers },
      body: sent?.body ?? null,
      dispatcher: dispatcher(url.origin),
      signal: either,
    });
    await answer.body.dump();
    return answer.statusCode;
  });
  if (statusCode >= 200 && statusCode < 300) return;
  throw new RetryLaterError('notify.refused', `${url.host} answered ${statusCode}`);
}

async function sendWebhook(
  deps: SendDeps,
  { url, secret }: NonNullable<To['webhook']>,
  { id, at, instance, message, isTest }: Sending,
): Promise<void> {
  const type = isTest ? 'selvedge.test' : 'selvedge.notification';
  const data = { instance, ...message };
  const body = JSON.stringify({ type, timestamp: new Date(at).toISOString(), data });
  const signed = signatureHeaders(secret.reveal(), { id, at: deps.clock.now(), body });
  const headers = { 'content-type': 'application/json', ...signed };
  await callAddress(deps, url, { headers, body });
}

/**
 * Error of a failed mail without nodemailer's message, because that quotes the server's answer,
 * which may repeat an address.
 */
function mailFailure(host: string, thrown: unknown): Error {
  const error = toError(thrown);
  const answer = 'responseCode' in error ? ` ${String(error.responseCode)}` : '';
  const message = `${host} took no mail: ${errorCode(error).split('\n')[0]}${answer}`;
  return new RetryLaterError('notify.refused', message, { cause: error });
}

type Smtp = NonNullable<To['smtp']>;

export interface Mail {
  /** Id of the mail, the same at each try. */
  readonly id: string;
  readonly subject: string;
  readonly text: string;
  readonly file?: { readonly name: string; readonly content: Buffer };
}

/** Sends a mail; returns a remark if the server refused some of its addresses. */
export async function sendMail(
  deps: Pick<SendDeps, 'clock' | 'signal'>,
  { host, port, tls, user, password, from, to }: Smtp,
  { id, subject, text, file }: Mail,
): Promise<string | undefined> {
  // Loads nodemailer only when it is needed: most installations send no mail.
  const { createTransport } = await import('nodemailer');
  const transport = createTransport({
    host,
    port,
    secure: tls === 'tls',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'none',
    tls: { rejectUnauthorized: true },
    connectionTimeout: SEND_MS_MAX,
    greetingTimeout: SEND_MS_MAX,
    socketTimeout: SEND_MS_MAX,
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(user && password ? { auth: { user: shown(user), pass: password.reveal() } } : {}),
  });
  const domain = from.slice(from.lastIndexOf('@') + 1);
  const attachments = file ? [{ filename: file.name, content: file.content }] : [];
  const headers = { 'Auto-Submitted': 'auto-generated' };
  try {
    const { rejected } = await withDeadline(
      deps,
      () =>
        transport.sendMail({
          from,
          to: [...to],
          subject,
          text,
          headers,
          attachments,
          messageId: `<${id}@${domain}>`,
        }),
      file ? SEND_FILE_MS_MAX : SEND_MS_MAX,
    );
    // A mail refused for some addresses counts as sent: the others would get it twice.
    if (rejected.length === 0) return undefined;
    return `${host} refused ${rejected.length} of ${to.length} addresses`;
  } catch (thrown) {
    if (deps.signal.aborted) throw thrown;
    throw mailFailure(host, thrown);
  } finally {
    transport.close();
  }
}

/** Sends a message; returns a remark if a mail server refused some addresses. */
export async function send(
  deps: SendDeps,
  { webhook, smtp }: To,
  one: Sending,
): Promise<string | undefined> {
  if (webhook) await sendWebhook(deps, webhook, one);
  return smtp ? sendMail(deps, smtp, { id: one.id, ...one.message }) : undefined;
}

/** Target of a channel in words, without what may be secret. */
export function placeOf({ webhook, smtp }: To): string {
  if (webhook) return `webhook at ${new URL(shown(webhook.url)).host}`;
  return smtp ? `mail by ${smtp.host}` : '';
}
