/**
 * Lets commands work over a URL: with the read API and the acts of a console that runs elsewhere.
 * This machine has no configuration and no database; the token decides who acts. Errors have the
 * console's own codes and words, or `remote.…` where no console has answered.
 */

import { resolve } from 'node:path';
import type { Command } from 'commander';
import { z } from 'zod';
import { readSecret } from '../../config/source/secrets.ts';
import { TOKEN_PREFIX } from '../../console/access/sessions.ts';
import {
  errorCode,
  InDoubtError,
  RefusedError,
  RetryLaterError,
  SelvedgeError,
  UsageError,
} from '../../lib/errors.ts';
import { isThisMachine } from '../../lib/http-server/browser-guard.ts';
import { tryParseJson } from '../../lib/json.ts';
import { askHere } from '../../local-api/ask.ts';
import type { CliContext } from '../command.ts';
import type { UrlOptions } from './over-url.ts';

// Reads the token of a console from a file, because arguments are seen by every user of the
// machine.

/**
 * Matches the content of a token file: the token alone, or the header that `curl -H @file` takes.
 */
const TOKEN = new RegExp(`^(?:Authorization: Bearer )?(${TOKEN_PREFIX}[\\w-]{20,100})$`, 'i');

const HOW = 'on the host of the daemon: selvedge console token <name> --role operator';

/** Reads the token, and has it removed from all output from now on. */
function readToken({ env, scrubber }: CliContext, given: string | undefined): string {
  const named = given ?? env.SELVEDGE_TOKEN_FILE;
  if (named === undefined || named === '') {
    throw new UsageError('remote.no_token', 'a console wants a token, and none is named', {
      hint: `--token-file <file>, or SELVEDGE_TOKEN_FILE; ${HOW}`,
    });
  }
  const file = resolve(named);
  const read = readSecret({ kind: 'file', file }, env, () => file);
  if ('problem' in read) {
    throw new UsageError('remote.token_file', read.problem, { hint: read.hint });
  }
  const token = TOKEN.exec(read.value.trim())?.[1];
  if (token === undefined) {
    const message = `the file ${file} does not hold the token of a console, and nothing else`;
    throw new UsageError('remote.token_file', message, { hint: HOW });
  }
  scrubber.register(token, 'token of the console');
  return token;
}

type Query = Readonly<Record<string, string>>;

/** A console that commands ask in place of a database. */
export interface RemoteConsole {
  get<T>(path: string, answer: z.ZodType<T>, query?: Query): Promise<T>;
  post<T>(path: string, body: unknown, answer: z.ZodType<T>): Promise<T>;
}

/** Maximum milliseconds to wait for an act, which may be on many rows; for a read it is less. */
const ACT_MS = 600_000;
const READ_MS = 60_000;

/** Error codes of a connection that did not come about, so that nothing was done. */
const NOT_ASKED = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Matches error codes of certificates that cannot be trusted, and of servers without TLS. */
const TLS =
  /CERT|ERR_TLS_|ERR_SSL_|^EPROTO$|^UNABLE_TO_(?:VERIFY|GET)|^(?:INVALID|PATH_LENGTH)_|_SIGNATURE/;

const TLS_HINTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'the certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate belongs to another host name',
  ERR_SSL_WRONG_VERSION_NUMBER: 'does that port speak TLS?',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'does that port speak TLS?',
};
const OWN_CA = 'with a certificate authority of your own: NODE_EXTRA_CA_CERTS=<file> selvedge …';

const refusal = z.object({ code: z.string(), message: z.string(), hint: z.string().optional() });

/**
 * Reads the origin of a console. Plain HTTP is refused, because it would show the token to the
 * network.
 */
function originOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new UsageError('remote.no_url', `--url ${text} is no address`, {
      hint: '--url https://host:port',
    });
  }
  if (url.username !== '' || url.password !== '') {
    throw new UsageError('remote.no_url', '--url takes no name and no password', {
      hint: 'put a token into a file: --token-file <file>',
    });
  }
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    throw new UsageError('remote.no_url', 'a console is at the root of its address', {
      hint: `--url ${url.origin}`,
    });
  }
  if (url.protocol === 'http:' && !isThisMachine(url.host)) {
    throw new UsageError('remote.plain_http', 'over plain HTTP the token could be read by others', {
      hint: `https://${url.host}; http is for this machine only, such as a tunnel of ssh`,
    });
  }
  return url.origin;
}

function unreached(origin: string, isRead: boolean, cause: unknown): never {
  const code = errorCode(cause);
  if (TLS.test(code)) {
    const hint = TLS_HINTS[code] ?? OWN_CA;
    throw new RefusedError('remote.tls', `${origin} cannot be trusted (${code})`, { hint, cause });
  }
  if (isRead || NOT_ASKED.has(code)) {
    const hint = 'does the daemon run, is its console on (console.enabled), is the address right?';
    const message = `no console answers at ${origin} (${code})`;
    throw new RetryLaterError('remote.unreachable', message, { hint, cause });
  }
  const hint = 'what was asked for may have been done: look before you ask again';
  throw new InDoubtError('remote.broken_off', `${origin} broke off its answer (${code})`, {
    hint,
    cause,
  });
}

interface Answered {
  readonly statusCode: number;
  readonly text: string;
}

/** Throws the error for an answer of the console other than 200. */
function refuse(origin: string, { statusCode, text }: Answered): never {
  const { data } = refusal.safeParse(tryParseJson(text));
  if (!data) {
    if (statusCode >= 502 && statusCode <= 504) {
      const message = `what is at ${origin} does not reach the console (${statusCode})`;
      throw new RetryLaterError('remote.unreachable', message, { hint: 'does the daemon run?' });
    }
    if (statusCode === 421) {
      const message = `the console does not answer under the name of ${origin}`;
      const hint = 'use its own address, console.publicUrl in the configuration of the daemon';
      throw new RefusedError('remote.other_name', message, { hint });
    }
    throw notSelvedge(origin, `HTTP ${statusCode}`);
  }
  const { code, message, hint } = data;
  if (statusCode === 400) throw new UsageError(code, message, { hint });
  if (statusCode === 401) {
    const another = 'on the host of the daemon: selvedge console token <name>';
    throw new RefusedError(code, message, { hint: hint ?? another });
  }
  if (statusCode === 429) throw new RetryLaterError(code, message, { hint });
  if (statusCode >= 500) throw new SelvedgeError(code, message, { hint });
  throw new RefusedError(code, message, { hint });
}

function notSelvedge(origin: string, what: string): SelvedgeError {
  const message = `at ${origin} answers no console of Selvedge (${what})`;
  const hint = 'name the address of the console; it must have the version of this program';
  return new RefusedError('remote.not_selvedge', message, { hint });
}

function createRemoteConsole(origin: string, token: string): RemoteConsole {
  const send = async <T>(
    method: 'GET' | 'POST',
    path: string,
    answer: z.ZodType<T>,
    body?: unknown,
  ): Promise<T> => {
    const isRead = method === 'GET';
    const answered = await askHere(`${origin}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json',
        ...(!isRead && { 'content-type': 'application/json' }),
      },
      ...(!isRead && { body: JSON.stringify(body) }),
      headersTimeout: isRead ? READ_MS : ACT_MS,
    }).catch((cause: unknown) => unreached(origin, isRead, cause));
    if (answered.statusCode !== 200) refuse(origin, answered);
    const parsed = answer.safeParse(tryParseJson(answered.text));
    if (!parsed.success) throw notSelvedge(origin, `${path} has another answer`);
    return parsed.data;
  };
  return {
    get(path, answer, query = {}) {
      const search = new URLSearchParams(query).toString();
      return send('GET', search === '' ? path : `${path}?${search}`, answer);
    },
    post: (path, body, answer) => send('POST', path, answer, body),
  };
}

/** Gives the console that `--url` names; undefined: the command works on this machine. */
export function remoteConsoleOf(command: Command, context: CliContext): RemoteConsole | undefined {
  const { url, tokenFile } = command.optsWithGlobals<UrlOptions>();
  if (url === undefined) return undefined;
  return createRemoteConsole(originOf(url), readToken(context, tokenFile));
}

/** Refuses an option that needs the daemon's machine in a command over a URL. */
export function requireHere(remote: RemoteConsole | undefined, option: string): void {
  if (remote === undefined) return;
  const message = `${option} does not work over a URL`;
  throw new UsageError('remote.not_over_url', message, { hint: 'on the host of the daemon' });
}
