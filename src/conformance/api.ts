/**
 * Helpers of the conformance cases: requests to V1 and V2 with a token, waiting, checks of shapes.
 */

import type { z } from 'zod';
import { headerText } from '../client/http/exchange.ts';
import type { PlainRequest, ProbeClient } from '../client/probe-client.ts';
import { isJsonObject } from '../lib/json.ts';
import { headersFor, type TokenWay } from '../probe/access.ts';
import { V1_ANSWERS } from '../reference/openapi/v1-answers.ts';
import { Differs, demand } from './findings.ts';

/** Access to one of the two interfaces, V1 or V2, as the configuration has it. */
export interface Side {
  /** Root of the interface, without a trailing slash. */
  readonly baseUrl: string;
  /** Static key that is used in place of a log-in; undefined: there is a log-in. */
  readonly key: string | undefined;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly idMember: string;
  readonly secretMember: string;
  readonly header: string;
  readonly scheme: 'plain' | 'bearer';
}

export interface Account {
  readonly v1: Side;
  readonly v2?: Side | undefined;
  readonly readToken?: string | undefined;
  readonly readTokenHeader: string;
  /** Whether the key is of kind b2b and has detailed pricing. */
  readonly priced?: boolean;
}

// biome-ignore lint/suspicious/noExplicitAny: answers of a stranger are probed freely
export type Row = any;

export interface Answer {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly text: string;
  readonly body: Row;
}

interface Asked {
  readonly method?: PlainRequest['method'];
  readonly body?: unknown;
  /** Headers that are sent in place of the token's. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the case looks for a 429, so that the request is not repeated after one. */
  readonly isFast?: boolean;
}

/** An open session at one interface, with the way in which it carries its token. */
interface Session {
  readonly token: string;
  /**
   * JSON pointer to the token in the answer to the log-in; undefined: a static key needs no log-in.
   */
  readonly pointer: string | undefined;
  readonly header: string;
  readonly scheme: 'plain' | 'bearer';
  readonly login: Answer | undefined;
}

export interface Api {
  readonly account: Account;
  v1(path: string, asked?: Asked): Promise<Answer>;
  v2(path: string, asked?: Asked): Promise<Answer>;
  /** Reads any address, with the token of V2. */
  follow(url: string): Promise<Answer>;
  burst(path: string, count: number): Promise<readonly Answer[]>;
  session(version: 'v1' | 'v2'): Promise<Session>;
  wait(ms: number): Promise<void>;
  /** Current time in epoch ms. `serial`: a number that no other call of this run gets. */
  now(): number;
  serial(): number;
  /** Repeats a question every three seconds until it has a result, for two minutes at most. */
  until<T>(ask: () => Promise<T | undefined>): Promise<T | undefined>;
  /**
   * Checks a V1 answer with status 200 and gives its data; `name` is method and path of its route.
   */
  data(answer: Answer, name: string): Row;
  /** Reads the data of a V1 address by GET; `name` as for `data`. */
  read(path: string, name: string): Promise<Row>;
  /** Members that answers have and the contract does not name. */
  readonly extras: Set<string>;
}

/** Milliseconds between two requests, which keeps them below 20 a second. */
const PACE_MS = 60;
const ASK_AGAIN_MS = 3_000;
const ASK_TIMES = 40;
const TOO_FAST = 429;
const TOO_FAST_TIMES = 5;
export const TOKEN_HEADER = 'X-Service-Authorization';
const WAYS: readonly TokenWay[] = [
  { header: TOKEN_HEADER, scheme: 'plain' },
  { header: 'Authorization', scheme: 'bearer' },
  { header: 'Authorization', scheme: 'plain' },
  { header: 'X-Api-Key', scheme: 'plain' },
  { header: 'X-Auth-Token', scheme: 'plain' },
  { header: 'X-Token', scheme: 'plain' },
];

/** Finds the first text that looks like a token, with its JSON pointer. */
function findToken(value: unknown, at = ''): { pointer: string; token: string } | undefined {
  if (!isJsonObject(value)) return undefined;
  for (const [name, member] of Object.entries(value)) {
    if (/token/i.test(name) && typeof member === 'string') {
      return { pointer: `${at}/${name}`, token: member };
    }
    const below = findToken(member, `${at}/${name}`);
    if (below) return below;
  }
  return undefined;
}

type Ask = (url: string, asked: Asked) => Promise<Answer>;

/**
 * Builds the function that sends a request, and repeats it after a 429 unless the case looks for
 * one.
 */
function createAsk({ asker, wait }: Passing): Ask {
  return async (url, asked) => {
    const { method = 'GET', body: json, headers } = asked;
    for (let times = 1; ; times += 1) {
      const answer = await asker.askOnce({ method, url, json, headers });
      if (answer.status === TOO_FAST && asked.isFast !== true && times <= TOO_FAST_TIMES) {
        const seconds = Number(headerText(answer.headers, 'retry-after'));
        await wait(Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : 1_000);
        continue;
      }
      const get = (name: string): string | null => headerText(answer.headers, name) ?? null;
      const { status, text } = answer;
      return { status, text, headers: { get }, body: answer.json };
    }
  };
}

/**
 * Checks a value against a strict schema. Unknown members are collected, because they are news and
 * no difference.
 */
export function checkShape(schema: z.ZodType, value: unknown, extras: Set<string>): void {
  const parsed = schema.safeParse(value);
  if (parsed.success) return;
  const wrong: string[] = [];
  for (const issue of parsed.error.issues) {
    const at = issue.path.map((step) => (typeof step === 'number' ? '[]' : String(step))).join('.');
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) extras.add(at === '' ? key : `${at}.${key}`);
    } else wrong.push(`${at}: ${issue.message}`);
  }
  demand(wrong.length === 0, [...new Set(wrong)].slice(0, 5).join('; '));
}

export interface Passing {
  readonly asker: Pick<ProbeClient, 'askOnce'>;
  /** Minimum milliseconds between two log-ins. */
  readonly loginSpacingMs: number;
  now(): number;
  /** Lets time pass: really, or on the clock of a service in the same process. */
  wait(ms: number): Promise<void>;
}

function createSessions(account: Account, { wait, loginSpacingMs }: Passing, ask: Ask) {
  let lastLogin = false;
  /**
   * Finds a header that carries the token: the configured one, else one that other accounts use.
   */
  const enter = async (side: Side, probe: string, token: string): Promise<TokenWay> => {
    for (const way of [{ header: side.header, scheme: side.scheme }, ...WAYS]) {
      await wait(PACE_MS);
      const { status } = await ask(side.baseUrl + probe, { headers: headersFor(way, token) });
      if (status === 200) return way;
    }
    throw new Differs(`no header that is known carries the token of ${side.baseUrl}`);
  };
  const open = async (version: 'v1' | 'v2'): Promise<Session> => {
    const side = account[version];
    if (side === undefined) throw new Differs(`no address of ${version}`);
    const probe = version === 'v1' ? '/orders' : '/pdm/colors';
    if (side.key !== undefined) {
      const way = await enter(side, probe, side.key);
      return { ...way, token: side.key, pointer: undefined, login: undefined };
    }
    if (lastLogin) await wait(loginSpacingMs);
    lastLogin = true;
    const body = { [side.idMember]: side.clientId, [side.secretMember]: side.clientSecret };
    const login = await ask(`${side.baseUrl}/auth/login`, { method: 'POST', body });
    const found = findToken(login.body);
    if (!found) throw new Differs(`log-in to ${version} answers ${login.status} without a token`);
    return { ...found, ...(await enter(side, probe, found.token)), login };
  };
  const sessions = new Map<string, Promise<Session>>();
  return (version: 'v1' | 'v2'): Promise<Session> => {
    const known = sessions.get(version) ?? open(version);
    sessions.set(version, known);
    return known;
  };
}

export function createApi(account: Account, passing: Passing): Api {
  const { wait } = passing;
  const ask = createAsk(passing);
  const session = createSessions(account, passing, ask);
  const extras = new Set<string>();
  let count = 0;
  const send = async (version: 'v1' | 'v2', url: string, asked: Asked): Promise<Answer> => {
    await wait(PACE_MS);
    if (asked.headers) return ask(url, asked);
    const { token, ...way } = await session(version);
    return ask(url, { ...asked, headers: headersFor(way, token) });
  };
  const data: Api['data'] = (answer, name) => {
    const schema = V1_ANSWERS[name];
    if (!schema) throw new RangeError(`no answer of ${name}`);
    demand(answer.status === 200, `status ${answer.status}: ${answer.text.slice(0, 200)}`);
    // An answer may be the data alone; the case v1-envelope reports that, once.
    const { body } = answer;
    const found = isJsonObject(body) && 'data' in body ? body.data : body;
    checkShape(schema, found, extras);
    return found;
  };
  return {
    account,
    extras,
    session,
    wait,
    now: passing.now,
    serial() {
      count += 1;
      return count;
    },
    v1: (path, asked = {}) => send('v1', account.v1.baseUrl + path, asked),
    v2: (path, asked = {}) => send('v2', (account.v2?.baseUrl ?? '') + path, asked),
    async burst(path, count) {
      const { token, ...way } = await session('v1');
      const asked = { headers: headersFor(way, token), isFast: true };
      const url = account.v1.baseUrl + path;
      return Promise.all(Array.from({ length: count }, () => ask(url, asked)));
    },
    follow: (url) => send('v2', url, {}),
    data,
    read: async (path, name) => data(await send('v1', account.v1.baseUrl + path, {}), name),
    async until(attempt) {
      for (let turn = 0; turn < ASK_TIMES; turn += 1) {
        const found = await attempt();
        if (found !== undefined) return found;
        await wait(ASK_AGAIN_MS);
      }
      return undefined;
    },
  };
}
