/**
 * Sends a message through a channel: by a signed webhook (Standard Webhooks), or by mail. A failure
 * throws: a RefusedError where another try cannot help, else the caller decides when to try again.
 * Neither way uses our certificate for the service, and only webhooks go through its proxy.
 */

import { readFileSync } from 'node:fs';
import type { Dispatcher } from 'undici';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../lib/clock.ts';
import { errorCode, RefusedError, RetryLaterError, toError } from '../../lib/errors.ts';
import { requestBy } from '../../lib/http-client/undici.ts';
import { revealed, type Secret } from '../../lib/secret.ts';
import { formatSize } from '../../lib/units.ts';
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
  /** Connections to use for an origin; `caText`: authorities in place of the public ones. */
  readonly dispatcher: (origin: string, caText?: string) => Dispatcher;
  readonly signal: AbortSignal;
}

const SEND_MS_MAX = 15_000;
/** Milliseconds that a mail with a file may take, because a slow line needs longer for it. */
const SEND_FILE_MS_MAX = 120_000;

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

const UNTRUSTED = /^(?:DEPTH_ZERO_SELF|SELF_SIGNED|UNABLE_TO_|CERT_UNTRUSTED)/;

const REASONS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the name server does not answer',
  ECONNREFUSED: 'nothing listens there',
  ETIMEDOUT: 'no answer in time',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate belongs to another host name',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it speaks no TLS there: check port and tls',
};

/**
 * The reason beneath: a library sets a code of its own on top, and a try of several addresses has
 * no words at all.
 */
function reasonOf(thrown: unknown): string {
  const error = toError(thrown);
  const first = error instanceof AggregateError ? toError(error.errors[0]) : error;
  const beneath = 'originalCode' in first ? String(first.originalCode) : errorCode(first);
  const code = beneath.split('\n')[0] ?? '';
  const words = UNTRUSTED.test(code)
    ? 'nobody vouches for its certificate: caFile names the authorities of your own'
    : REASONS[code];
  return words === undefined ? code : `${code} (${words})`;
}

function tooLarge(host: string, bytes: number, answer: string): RefusedError {
  const size = formatSize(bytes);
  const message = `${host} takes no message of ${size}: ${answer}; it is not tried again`;
  return new RefusedError('notify.too_large', message);
}

const CONTENT_TOO_LARGE = 413;

interface Sent {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends a request and expects a 2xx; the text of the answer is not read. */
export async function callAddress(
  { dispatcher, clock, signal }: SendDeps,
  address: string | Secret,
  { headers, body, caText }: Partial<Sent> & { readonly caText?: string | undefined },
): Promise<void> {
  const url = new URL(revealed(address));
  const ask = async (either: AbortSignal): Promise<number> => {
    const answer = await requestBy(dispatcher(url.origin, caText), url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'user-agent': 'selvedge', ...headers },
      body: body ?? null,
      signal: either,
    });
    // The status is the answer: a body that never ends must not make a message that came a failure.
    answer.body.on('error', () => undefined).destroy();
    return answer.statusCode;
  };
  const statusCode = await withDeadline({ clock, signal }, ask).catch((thrown: unknown) => {
    if (signal.aborted) throw thrown;
    const message = `${url.host} could not be asked: ${reasonOf(thrown)}`;
    throw new RetryLaterError('notify.unreachable', message, { cause: thrown });
  });
  if (statusCode >= 200 && statusCode < 300) return;
  const answered = `answered ${statusCode}`;
  if (statusCode === CONTENT_TOO_LARGE && body !== undefined) {
    throw tooLarge(url.host, Buffer.byteLength(body), answered);
  }
  throw new RetryLaterError('notify.refused', `${url.host} ${answered}`);
}

async function sendWebhook(
  deps: SendDeps,
  { url, secret, caText }: NonNullable<To['webhook']> & Trust,
  { id, at, instance, message, isTest }: Sending,
): Promise<void> {
  const type = isTest ? 'selvedge.test' : 'selvedge.notification';
  const data = { instance, ...message };
  const body = JSON.stringify({ type, timestamp: new Date(at).toISOString(), data });
  const signed = signatureHeaders(secret.reveal(), { id, at: deps.clock.now(), body });
  const headers = { 'content-type': 'application/json', ...signed };
  await callAddress(deps, url, { headers, body, caText });
}

/** A full mailbox has the same 552 with 5.2.2, and may be emptied. */
const TOO_LARGE = /^\d{3}[ -](?:5\.3\.4|5\.2\.3)\b|^552(?![ -]5\.2\.2)/;

/** Whether a mail server said that it takes no mail so large, or named its limit before. */
function isTooLarge(error: Error): boolean {
  const response = 'response' in error ? String(error.response) : '';
  return TOO_LARGE.test(response) || error.message.startsWith('Message size larger than allowed');
}

/**
 * Error of a failed mail without nodemailer's message, because that quotes the server's answer,
 * which may repeat an address.
 */
function mailFailure(host: string, thrown: unknown, bytes: number): Error {
  const error = toError(thrown);
  const answer = 'responseCode' in error ? ` ${String(error.responseCode)}` : '';
  if (isTooLarge(error)) return tooLarge(host, bytes, `${errorCode(error)}${answer}`);
  const message = `${host} took no mail: ${reasonOf(error)}${answer}`;
  return new RetryLaterError('notify.refused', message, { cause: error });
}

/** Authorities to trust in place of the public ones, as PEM. */
interface Trust {
  readonly caText?: string | undefined;
}

type Smtp = NonNullable<To['smtp']> & Trust;

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
  { host, port, tls, user, password, from, to, caText }: Smtp,
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
    tls: { rejectUnauthorized: true, ...(caText !== undefined && { ca: caText }) },
    connectionTimeout: SEND_MS_MAX,
    greetingTimeout: SEND_MS_MAX,
    socketTimeout: SEND_MS_MAX,
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(user && password ? { auth: { user: revealed(user), pass: password.reveal() } } : {}),
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
    throw mailFailure(host, thrown, text.length + (file?.content.length ?? 0));
  } finally {
    transport.close();
  }
}

/** The authorities of a file, which is read each time, because it may have been renewed. */
export function trustOf(caFile: string | null | undefined): Trust {
  return { caText: typeof caFile === 'string' ? readFileSync(caFile, 'utf8') : undefined };
}

/** Sends a message; returns a remark if a mail server refused some addresses. */
export async function send(
  deps: SendDeps,
  { to: { webhook, smtp }, caFile }: Pick<ChannelConfig, 'to' | 'caFile'>,
  one: Sending,
): Promise<string | undefined> {
  const trust = trustOf(caFile);
  if (webhook) await sendWebhook(deps, { ...webhook, ...trust }, one);
  return smtp ? sendMail(deps, { ...smtp, ...trust }, { id: one.id, ...one.message }) : undefined;
}

/** Target of a channel in words, without what may be secret. */
export function placeOf({ webhook, smtp }: To): string {
  if (webhook) return `webhook at ${new URL(revealed(webhook.url)).host}`;
  return smtp ? `mail by ${smtp.host}` : '';
}
