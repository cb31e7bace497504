/**
 * Finds out which of the choices that the wire contract leaves open (docs/wire.md, **C**) an
 * account makes, by reading only: names of the log-in's members, where the token stands and in
 * which header it travels, the name of the season parameter, paging, the level.
 *
 * Each try of the log-in waits for its time, as the daemon's own log-ins do.
 */
import { stringify } from 'yaml';
import { z } from 'zod';
import { refusedLogin } from '../../client/session.ts';
import type { Config } from '../../config/schema.ts';
import { RefusedError, RetryLaterError, SelvedgeError, toError } from '../../lib/errors.ts';
import { isJsonObject } from '../../lib/json.ts';
import { type Scrubber, Secret } from '../../lib/secret.ts';
import type { Service } from '../service.ts';

export interface Choice {
  /** Its place in the configuration; undefined: it is only told. */
  readonly setting: string | undefined;
  readonly value: string;
  readonly how: string;
}

export interface ProbeDeps {
  readonly config: Config['service'];
  readonly service: Pick<Service, 'transport' | 'mayLogIn'>;
  readonly scrubber: Scrubber;
}

const MEMBERS = [
  ['clientID', 'clientSecret'],
  ['clientId', 'clientSecret'],
  ['client_id', 'client_secret'],
] as const;
const HEADERS = ['X-Service-Authorization', 'X-Authorization', 'Authorization'];
const SEASON_PARAMETERS = ['seasonName', 'season', 'SeasonName'];
const NO_SUCH_SEASON = 'selvedge-probe-no-such-season';

const first = <T>(own: T, others: readonly T[]): T[] => [...new Set([own, ...others])];

/** Where a text stands in an answer whose member is called token, as a JSON pointer. */
function tokenPointer(value: unknown, depth = 0): string | undefined {
  if (!isJsonObject(value) || depth > 3) return undefined;
  for (const [name, inner] of Object.entries(value)) {
    if (/token$/i.test(name) && typeof inner === 'string' && inner !== '') return `/${name}`;
  }
  for (const [name, inner] of Object.entries(value)) {
    const below = tokenPointer(inner, depth + 1);
    if (below !== undefined) return `/${name}${below}`;
  }
  return undefined;
}

function memberAt(value: unknown, pointer: string): unknown {
  let at = value;
  for (const name of pointer.split('/').slice(1)) at = isJsonObject(at) ? at[name] : undefined;
  return at;
}

interface LoggedIn {
  readonly token: string;
  readonly choices: readonly Choice[];
}

async function logIn(deps: ProbeDeps): Promise<LoggedIn> {
  const { config, service, scrubber } = deps;
  const { login, apiKey, baseUrl } = config.v1;
  if (apiKey !== null) return { token: apiKey.reveal(), choices: [] };
  if (!login) throw new RefusedError('probe.no_login', 'service.v1 has no login');
  const id = login.clientId instanceof Secret ? login.clientId.reveal() : login.clientId;
  const pairs: (readonly [string, string])[] = [[login.idMember, login.secretMember], ...MEMBERS];
  let refusal: Error | undefined;
  for (const [idMember, secretMember] of new Map(
    pairs.map((pair) => [pair.join(), pair]),
  ).values()) {
    await service.mayLogIn();
    try {
      const { json } = await service.transport.request({
        ...{ method: 'POST', url: `${baseUrl}/auth/login`, priority: 'push', safe: true },
        json: { [idMember]: id, [secretMember]: login.clientSecret.reveal() },
      });
      const pointer = tokenPointer(json) ?? config.v1.tokenPointer;
      const token = memberAt(json, pointer);
      if (typeof token !== 'string') {
        const hint = 'check the base URL, or set service.v1.tokenPointer';
        throw new RefusedError('probe.no_token', 'no token came', { hint });
      }
      scrubber.register(token, 'token');
      const how = 'the log-in was accepted so';
      return {
        token,
        choices: [
          { setting: 'service.v1.login.idMember', value: idMember, how },
          { setting: 'service.v1.login.secretMember', value: secretMember, how },
          { setting: 'service.v1.tokenPointer', value: pointer, how: 'the token stood there' },
        ],
      };
    } catch (error) {
      // Only a refusal may be for the names; a service that is away refuses nothing.
      if (!(error instanceof RefusedError) && !isRefusedLogin(error)) throw error;
      // A wrong secret is known by the right names only; of other names it says nothing.
      if (!isRefusedLogin(refusal)) refusal = toError(error);
    }
  }
  throw refusedLogin(refusal ?? new RefusedError('probe.no_login', 'no log-in was tried'));
}

function isRefusedLogin(error: unknown): boolean {
  return error instanceof SelvedgeError && /401|login_again|unauthorized/.test(error.code);
}

const listAnswer = z.object({
  data: z.looseObject({
    count: z.number().optional(),
    seasons: z.array(z.looseObject({ seasonName: z.string() })).optional(),
    variants: z.array(z.unknown()).optional(),
  }),
});

type Read = (
  path: string,
  query?: Readonly<Record<string, string | number>>,
) => Promise<z.output<typeof listAnswer>['data'] | undefined>;

/** A list that takes for ever, or another program's page: the answer of one that is there. */
const ANSWERS: ReadonlySet<string> = new Set([
  'transport.total_timeout',
  'transport.broken_answer',
]);

/** A service that is away says nothing about the choices of an account. */
function unlessAway(error: unknown): undefined {
  if (error instanceof RetryLaterError && !ANSWERS.has(error.code)) throw error;
}

/** Reads with this token in this header; undefined: the service would not. */
function reader({ config, service }: ProbeDeps, header: string, token: string): Read {
  return async (path, query) => {
    const url = `${config.v1.baseUrl}${path}`;
    const headers = { [header]: token };
    const request = { method: 'GET', url, query, headers, priority: 'read' } as const;
    const answer = await service.transport.request(request).catch(unlessAway);
    return listAnswer.safeParse(answer?.json).data?.data;
  };
}

async function findHeader(deps: ProbeDeps, token: string): Promise<Choice> {
  for (const header of first(deps.config.v1.tokenHeader, HEADERS)) {
    if (await reader(deps, header, token)('/brands')) {
      const how = 'GET /brands was answered with it';
      return { setting: 'service.v1.tokenHeader', value: header, how };
    }
  }
  throw new RefusedError('probe.no_header', 'no known header carries the token', {
    hint: 'ask the service for the name, and set service.v1.tokenHeader',
  });
}

async function findSeasonParameter(deps: ProbeDeps, read: Read): Promise<Choice> {
  const setting = 'service.v1.seasonParameter';
  const seasons = (await read('/seasons'))?.seasons ?? [];
  const [season] = seasons;
  if (!season) return { setting: undefined, value: '?', how: 'there is no season to try it with' };
  for (const name of first(deps.config.v1.seasonParameter, SEASON_PARAMETERS)) {
    const right = await read('/variants/season', { [name]: season.seasonName, limit: 1 });
    const wrong = await read('/variants/season', { [name]: NO_SUCH_SEASON, limit: 1 });
    if (right && (wrong?.count ?? 0) !== (right.count ?? -1)) {
      return { setting, value: name, how: 'it makes a difference which season it names' };
    }
  }
  return { setting: undefined, value: '?', how: 'no known name of the parameter works' };
}

async function findPaging(read: Read): Promise<Choice> {
  const page = await read('/variants/stock', { page: 1, limit: 1 });
  const setting = 'service.v1.paging';
  if (page?.variants && page.variants.length <= 1) {
    return { setting: undefined, value: 'pages work', how: `limit=1 gave ${page.variants.length}` };
  }
  return { setting, value: 'stream', how: 'limit=1 was not heeded' };
}

async function findLevel({ config, service }: ProbeDeps, header: string, token: string) {
  const url = `${config.v1.baseUrl}/openapi.json`;
  const request = { method: 'GET', url, headers: { [header]: token }, priority: 'read' } as const;
  const answer = await service.transport.request(request).catch(unlessAway);
  const version = memberAt(answer?.json, '/info/version');
  const how = 'its OpenAPI document says so';
  if (typeof version !== 'string') {
    return { setting: undefined, value: '?', how: 'the service publishes no description of V1' };
  }
  const isLevel = /^\d+\.\d+\.\d+$/.test(version);
  return { setting: isLevel ? 'service.v1.level' : undefined, value: version, how };
}

export async function probeAccount(deps: ProbeDeps): Promise<readonly Choice[]> {
  const { token, choices } = await logIn(deps);
  const header = await findHeader(deps, token);
  const read = reader(deps, header.value, token);
  return [
    ...choices,
    header,
    await findSeasonParameter(deps, read),
    await findPaging(read),
    await findLevel(deps, header.value, token),
  ];
}

/** The choices as they stand in a configuration file. */
export function snippetOf(choices: readonly Choice[]): string {
  const tree: Record<string, unknown> = {};
  for (const { setting, value } of choices) {
    const path = setting?.split('.') ?? [];
    let at = tree;
    for (const name of path.slice(0, -1)) {
      const inner = at[name];
      const next: Record<string, unknown> = isJsonObject(inner) ? inner : {};
      at[name] = next;
      at = next;
    }
    const last = path.at(-1);
    if (last !== undefined) at[last] = value;
  }
  return stringify(tree);
}
