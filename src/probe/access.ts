/**
 * Finds the way into an account: the address of an interface, the log-in (names of its members,
 * place of the token), and the header and scheme in which a token or key travels. V1 and V2 differ
 * in names only.
 */
import type { PlainAnswer, ProbeClient } from '../client/probe-client.ts';
import { RefusedError, RetryLaterError } from '../lib/errors.ts';
import { isJsonObject } from '../lib/json.ts';
import type { Scrubber, Secret } from '../lib/secret.ts';
import { findText, isGood, isMissing, isShut, statusOf, wordsOf } from './answers.ts';
import type { Witness } from './findings.ts';

type Scheme = 'plain' | 'bearer';

export interface TokenWay {
  readonly header: string;
  readonly scheme: Scheme;
}

export interface Target {
  /** Interface, which messages name and sections of the configuration are called after. */
  readonly version: 'v1' | 'v2';
  readonly baseUrl: string;
  /** Addresses that are tried when the base URL leads to no interface. */
  readonly otherBases: readonly string[];
  readonly clientId: string | undefined;
  /** Secret of the log-in, or a static key. */
  readonly secret: Secret;
  readonly isKey: boolean;
  /** Configured member names of the log-in, which are tried first. */
  readonly names: readonly [id: string, secret: string];
  readonly pointers: readonly string[];
  readonly way: TokenWay;
  /** Member names of the log-in in a published description, which are tried next. */
  readonly describedNames?: readonly [id: string, secret: string] | undefined;
  readonly describedWays: readonly TokenWay[];
  /** Paths of lists, of which at least one exists, to try a header with. */
  readonly lists: readonly string[];
}

export interface Hands {
  readonly asker: ProbeClient;
  readonly scrubber: Scrubber;
  readonly witness: Witness;
  /** Waits until a log-in may be sent, and remembers its time. */
  readonly mayLogIn: () => Promise<void>;
}

export interface Access {
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
}

const NAMES: readonly (readonly [string, string])[] = [
  ['clientID', 'clientSecret'],
  ['clientId', 'clientSecret'],
  ['client_id', 'client_secret'],
];

const WAYS: readonly TokenWay[] = [
  { header: 'X-Service-Authorization', scheme: 'plain' },
  { header: 'Authorization', scheme: 'bearer' },
  { header: 'Authorization', scheme: 'plain' },
  { header: 'X-Service-Authorization', scheme: 'bearer' },
  { header: 'X-Authorization', scheme: 'plain' },
  { header: 'X-Authorization', scheme: 'bearer' },
  { header: 'X-Auth-Token', scheme: 'plain' },
  { header: 'X-Api-Key', scheme: 'plain' },
  { header: 'X-Access-Token', scheme: 'plain' },
  { header: 'X-Api-Token', scheme: 'plain' },
  { header: 'Api-Key', scheme: 'plain' },
];

const TOKEN = /^(?!.*(?:refresh|csrf|page))(?:.*[^a-z])?\w*token$/i;
const OTHER_TOKEN = /^(?:jwt|bearer|api_?key|session(?:_?id)?)$/i;

/**
 * Minimum characters of a token; a shorter text is a type or a flag, such as `token_type: Bearer`.
 */
const TOKEN_CHARS_MIN = 8;

interface Token {
  readonly text: string;
  readonly pointer: string;
}

function textAt(value: unknown, pointer: string): string | undefined {
  let at = value;
  for (const name of pointer.split('/').slice(1)) at = isJsonObject(at) ? at[name] : undefined;
  return typeof at === 'string' && at !== '' ? at : undefined;
}

function tokenIn({ json }: PlainAnswer, pointers: readonly string[]): Token | undefined {
  for (const pointer of pointers) {
    const text = textAt(json, pointer);
    if (text !== undefined) return { text, pointer };
  }
  const found = findText(json, TOKEN) ?? findText(json, OTHER_TOKEN);
  return found && found.text.length >= TOKEN_CHARS_MIN ? found : undefined;
}

/** Finds the member names that a refusal mentions: `The clientID field is required.` */
function namesIn({ text }: PlainAnswer): readonly [string, string] | undefined {
  const id = /\bclient_?id\b/i.exec(text)?.[0];
  const secret = /\bclient_?secret\b/i.exec(text)?.[0];
  return id !== undefined && secret !== undefined ? [id, secret] : undefined;
}

function uniqueBy<T>(values: readonly (T | undefined)[]): T[] {
  const all = values.filter((value) => value !== undefined);
  return [...new Map(all.map((value) => [JSON.stringify(value), value])).values()];
}

function pointerSetting({ version }: Target): string {
  return `service.dialect.${version}.tokenPointer${version === 'v1' ? '' : 's'}`;
}

interface LogIns {
  readonly token?: Token;
  readonly baseUrl: string;
  readonly names?: readonly [string, string];
  /** The refusal that says most about the log-in. */
  readonly refusal: PlainAnswer | undefined;
  /** Whether none of the addresses has a log-in at all. */
  readonly isNowhere: boolean;
}

/** Whether an answer shows that no log-in is at this address: it says so, or is an HTML page. */
function isNoLogIn(answer: PlainAnswer): boolean {
  return isMissing(answer) || (answer.json === undefined && !isShut(answer));
}

async function tryNames(target: Target, hands: Hands, baseUrl: string): Promise<LogIns> {
  const { asker, scrubber, witness } = hands;
  let left = uniqueBy([target.names, target.describedNames, ...NAMES]);
  const tried = new Set<string>();
  let refusal: PlainAnswer | undefined;
  for (let [pair] = left; pair; [pair] = left) {
    const [idName, secretName] = pair;
    tried.add(pair.join());
    witness.looking(`the log-in at ${baseUrl}, with ${idName} and ${secretName}`);
    await hands.mayLogIn();
    const answer = await asker.ask({
      method: 'POST',
      url: `${baseUrl}/auth/login`,
      json: { [idName]: target.clientId, [secretName]: target.secret.reveal() },
    });
    const token = isGood(answer) ? tokenIn(answer, target.pointers) : undefined;
    if (token) {
      scrubber.register(token.text, 'token');
      return { token, baseUrl, names: pair, refusal: undefined, isNowhere: false };
    }
    if (isNoLogIn(answer)) return { baseUrl, refusal: refusal ?? answer, isNowhere: !refusal };
    if (isGood(answer)) {
      const members = Object.keys(isJsonObject(answer.json) ? answer.json : {}).join(', ');
      throw new RefusedError('probe.no_token', 'the log-in was answered without a token', {
        hint: `its answer has ${members}: set ${pointerSetting(target)} by hand`,
      });
    }
    // A wrong secret is refused as such only under the right names, so such a refusal is kept.
    if (!refusal || !isShut(refusal)) refusal = answer;
    // Member names that the refusal mentions are tried next.
    left = uniqueBy([namesIn(answer), ...left]).filter((one) => !tried.has(one.join()));
  }
  return { baseUrl, refusal, isNowhere: false };
}

function refused(target: Target, { refusal, baseUrl, isNowhere }: LogIns): Error {
  const words = refusal ? wordsOf(refusal) : 'no answer';
  const which = isNowhere ? 'the base URL, the client id' : 'the client id';
  return new RetryLaterError('session.login_refused', `the log-in failed: ${words}`, {
    hint: `check ${which} and the client secret (${baseUrl}/auth/login, service.${target.version})`,
  });
}

export function headersFor({ header, scheme }: TokenWay, token: string): Record<string, string> {
  return { [header]: scheme === 'bearer' ? `Bearer ${token}` : token };
}

const nameOf = ({ header, scheme }: TokenWay): string =>
  scheme === 'bearer' ? `${header}: Bearer` : header;

/** Chooses the list to try a token on: one that is shut without a token, else one that exists. */
async function listToTry(target: Target, hands: Hands, baseUrl: string) {
  let open: string | undefined;
  for (const path of target.lists) {
    const bare = await hands.asker.ask({ method: 'GET', url: baseUrl + path });
    if (isShut(bare)) return { path, bare };
    if (!isMissing(bare)) open ??= path;
  }
  return { path: open ?? target.lists[0] ?? '/', bare: undefined };
}

async function findWay(
  target: Target,
  hands: Hands,
  baseUrl: string,
  token: string,
): Promise<TokenWay | undefined> {
  const { asker, witness } = hands;
  const section = `service.dialect.${target.version}`;
  const { path, bare } = await listToTry(target, hands, baseUrl);
  for (const way of uniqueBy([target.way, ...target.describedWays, ...WAYS])) {
    witness.looking(`the header of the token: ${nameOf(way)}`);
    const headers = headersFor(way, token);
    const answer = await asker.ask({ method: 'GET', url: baseUrl + path, headers });
    const isIn = bare ? !isShut(answer) && statusOf(answer) < 500 : isGood(answer);
    if (!isIn) continue;
    const status = statusOf(answer);
    const without = bare ? `${statusOf(bare)} without` : 'no other answer without';
    const seen = `${nameOf(way)}: ${without}, ${status} with it, on GET ${path}`;
    const doubt = bare ? undefined : 'the service opens that list without a token as well';
    witness.found({ setting: `${section}.tokenHeader`, value: way.header, seen, doubt });
    witness.found({ setting: `${section}.tokenScheme`, value: way.scheme, seen, doubt });
    return way;
  }
  return undefined;
}

function noWay({ version }: Target, hasSchemes: boolean): RefusedError {
  const described = hasSchemes ? ', nor one that its description names' : '';
  const message = `no header that is known here carries the token${described}`;
  return new RefusedError('probe.no_header', message, {
    hint: `ask the service for the name, and set service.dialect.${version}.tokenHeader`,
  });
}

/** Finds the way into an interface; throws where there is none. */
export async function findAccess(target: Target, hands: Hands): Promise<Access> {
  const hasSchemes = target.describedWays.length > 0;
  if (target.isKey) {
    const key = target.secret.reveal();
    const way = await findWay(target, hands, target.baseUrl, key);
    if (way) return { baseUrl: target.baseUrl, headers: headersFor(way, key) };
    throw noWay(target, hasSchemes);
  }
  let last: LogIns | undefined;
  for (const baseUrl of uniqueBy([target.baseUrl, ...target.otherBases])) {
    const tried = await tryNames(target, hands, baseUrl);
    if (!last || last.isNowhere) last = tried;
    if (tried.token) {
      found(target, hands, { ...tried, token: tried.token });
      const way = await findWay(target, hands, baseUrl, tried.token.text);
      if (!way) throw noWay(target, hasSchemes);
      return { baseUrl, headers: headersFor(way, tried.token.text) };
    }
    if (!tried.isNowhere) break;
  }
  if (last?.isNowhere && target.version === 'v1') {
    const key = target.secret.reveal();
    const way = await findWay(target, hands, target.baseUrl, key);
    if (way) {
      const seen = `POST /auth/login does not exist, and the secret itself opens the lists`;
      hands.witness.found({ setting: 'service.v1.apiKey', value: true, seen });
      return { baseUrl: target.baseUrl, headers: headersFor(way, key) };
    }
  }
  throw refused(target, last ?? { baseUrl: target.baseUrl, refusal: undefined, isNowhere: true });
}

function found(target: Target, { witness }: Hands, logIn: LogIns & { readonly token: Token }) {
  const { version, pointers } = target;
  const section = `service.dialect.${version}`;
  const { baseUrl, names = target.names, token } = logIn;
  const [idName, secretName] = names;
  const seen = `POST /auth/login with ${idName} and ${secretName} was answered with a token`;
  if (baseUrl !== target.baseUrl) {
    witness.found({ setting: `service.${version}.baseUrl`, value: baseUrl, seen });
  }
  witness.found({ setting: `${section}.idMember`, value: idName, seen });
  witness.found({ setting: `${section}.secretMember`, value: secretName, seen });
  const where = `the token stood at ${token.pointer}`;
  const list = pointers.includes(token.pointer) ? pointers : [token.pointer];
  const value = version === 'v1' ? token.pointer : list;
  witness.found({ setting: pointerSetting(target), value, seen: where });
}
