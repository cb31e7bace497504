/** What a case may use: requests to V1 and V2 with a token, time that passes, checks of shapes. */
import type { z } from 'zod';
import { isJsonObject, tryParseJson } from '../../src/lib/json.ts';
import { V1_ANSWERS } from '../../src/reference/openapi/v1-answers.ts';
import { Differs, demand } from './case.ts';

export interface Account {
  /** Base addresses, without a slash at the end. */
  readonly v1: string;
  readonly v2?: string | undefined;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly readToken?: string | undefined;
  /** The key is of kind b2b and has detailed pricing. */
  readonly priced?: boolean;
}

// biome-ignore lint/suspicious/noExplicitAny: answers of a stranger are probed freely
export type Row = any;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Row;
}

interface Asked {
  readonly method?: string;
  readonly body?: unknown;
  /** In place of the token. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** How this account lets in. */
interface Session {
  readonly token: string;
  /** Where the token stands in the answer to the log-in. */
  readonly pointer: string;
  readonly header: string;
  readonly login: Answer;
}

export interface Api {
  readonly account: Account;
  v1(path: string, asked?: Asked): Promise<Answer>;
  v2(path: string, asked?: Asked): Promise<Answer>;
  /** Any address, with the token of V2. */
  follow(url: string): Promise<Answer>;
  session(version: 'v1' | 'v2'): Promise<Session>;
  wait(ms: number): Promise<void>;
  /** Asks again every three seconds until there is an answer, for two minutes. */
  until<T>(ask: () => Promise<T | undefined>): Promise<T | undefined>;
  /** The data of a V1 answer with status 200, checked; `name` is method and path of its route. */
  data(answer: Answer, name: string): Row;
  /** The data of a GET of V1. */
  read(path: string, name: string): Promise<Row>;
  /** Members that the contract does not name, found on the way. */
  readonly extras: Set<string>;
}

/** Log-ins are limited to one in 6 s. */
const LOGIN_SPACING_MS = 6_100;
/** Stays below 20 requests a second. */
const PACE_MS = 60;
const ASK_AGAIN_MS = 3_000;
const ASK_TIMES = 40;
const REQUEST_MS_MAX = 60_000;
export const TOKEN_HEADER = 'X-Service-Authorization';
const HEADERS_TO_TRY = [TOKEN_HEADER, 'Authorization', 'X-Api-Key', 'X-Auth-Token', 'X-Token'];

/** JSON pointer of the first text that looks like a token. */
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

async function ask(url: string, asked: Asked): Promise<Answer> {
  const hasBody = asked.body !== undefined;
  const response = await fetch(url, {
    method: asked.method ?? 'GET',
    redirect: 'manual',
    signal: AbortSignal.timeout(REQUEST_MS_MAX),
    headers: { ...(hasBody ? { 'content-type': 'application/json' } : {}), ...asked.headers },
    ...(hasBody ? { body: JSON.stringify(asked.body) } : {}),
  });
  const text = await response.text();
  const { status, headers } = response;
  return { status, headers, text, body: tryParseJson(text) };
}

/** Strict schemas tell unknown members too; those are no difference, only news. */
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
  /** Lets time pass: really, or on the clock of a service in the same process. */
  wait(ms: number): Promise<void>;
}

function createSessions(account: Account, { wait }: Passing) {
  let lastLogin = false;
  const open = async (version: 'v1' | 'v2'): Promise<Session> => {
    const base = version === 'v1' ? account.v1 : account.v2;
    if (base === undefined) throw new Differs(`no address of ${version}`);
    if (lastLogin) await wait(LOGIN_SPACING_MS);
    lastLogin = true;
    const { clientId, clientSecret } = account;
    const idName = version === 'v1' ? 'clientID' : 'clientId';
    const body = { [idName]: clientId, clientSecret };
    const login = await ask(`${base}/auth/login`, { method: 'POST', body });
    const found = findToken(login.body);
    if (!found) throw new Differs(`log-in to ${version} answers ${login.status} without a token`);
    const probe = version === 'v1' ? '/orders' : '/pdm/colors';
    for (const header of HEADERS_TO_TRY) {
      await wait(PACE_MS);
      const { status } = await ask(base + probe, { headers: { [header]: found.token } });
      if (status === 200) return { ...found, header, login };
    }
    throw new Differs(`no header of ${HEADERS_TO_TRY.join(', ')} carries the token of ${version}`);
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
  const session = createSessions(account, passing);
  const extras = new Set<string>();
  const send = async (version: 'v1' | 'v2', url: string, asked: Asked): Promise<Answer> => {
    await wait(PACE_MS);
    if (asked.headers) return ask(url, asked);
    const { header, token } = await session(version);
    return ask(url, { ...asked, headers: { [header]: token } });
  };
  const data: Api['data'] = (answer, name) => {
    const schema = V1_ANSWERS[name];
    if (!schema) throw new RangeError(`no answer of ${name}`);
    demand(answer.status === 200, `status ${answer.status}: ${answer.text.slice(0, 200)}`);
    checkShape(schema, answer.body?.data, extras);
    return answer.body.data;
  };
  return {
    account,
    extras,
    session,
    wait,
    v1: (path, asked = {}) => send('v1', account.v1 + path, asked),
    v2: (path, asked = {}) => send('v2', (account.v2 ?? '') + path, asked),
    follow: (url) => send('v2', url, {}),
    data,
    read: async (path, name) => data(await send('v1', account.v1 + path, {}), name),
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
