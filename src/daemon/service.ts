/** Builds the client of the service from the configuration: transport, sessions, V1, V2. */
import { readFileSync } from 'node:fs';
import { type Answering, askedAmong, createAnswering } from '../client/answering.ts';
import type { Route } from '../client/http/tunnel.ts';
import type { RawTarget } from '../client/raw-call.ts';
import {
  type Credential,
  createLoginGate,
  createSession,
  heldBy,
  type LoginResult,
  type LoginSpacing,
} from '../client/session.ts';
import type { Decimals } from '../client/tolerant/decimals.ts';
import {
  createTransport,
  type Permits,
  type Sender,
  TRANSPORT_DEFAULTS,
  type Transport,
  type TransportDeps,
} from '../client/transport.ts';
import { type Brands, createBrandNeeds } from '../client/v1/brands.ts';
import { createV1Client, type V1Client } from '../client/v1/client.ts';
import { VARIANT_LIST_DEFAULTS } from '../client/v1/variants.ts';
import { createV2Client, type V2Client } from '../client/v2/client.ts';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../lib/clock.ts';
import { ConfigError, RetryLaterError } from '../lib/errors.ts';
import { parseJsonObject } from '../lib/json.ts';
import type { Logger } from '../lib/log.ts';
import type { Random } from '../lib/random.ts';
import { type Scrubber, Secret } from '../lib/secret.ts';
import { PAUSED_BY } from '../outbox/document-state.ts';
import { APIS, type Api, readAnswers, type ServiceAnswer } from '../store/answering.ts';
import type { Timed } from '../store/clock-guard.ts';
import { type Account, readState, writeState } from '../store/state.ts';
import type { Store } from '../store/store.ts';
import { readDecimals } from '../sync/upgrade.ts';

const KEY = 'v1_brand_needs';

/** Kinds of reads known to need a brand; those of another address or level do not count. */
async function knownOf(
  { v1, dialect }: Config['service'],
  { store }: Timed,
): Promise<readonly string[]> {
  const text = await readState(store.db, KEY);
  if (text === undefined) return [];
  const stored = parseJsonObject(text);
  if (stored.baseUrl !== v1.baseUrl || stored.level !== dialect.v1.level) return [];
  return Array.isArray(stored.reads) ? stored.reads.map(String) : [];
}

/** Brands that a barcode may belong to: that of its mirrored row first, then all others. */
async function candidatesIn({ store: { db } }: Timed, barcode: string) {
  const own = await db
    .selectFrom('stock_variant')
    .select('brand_name')
    .where('barcode', '=', barcode)
    .executeTakeFirst();
  const brands = await db
    .selectFrom('brand')
    .select('brand_name')
    .where('deleted_at', 'is', null)
    .orderBy('brand_name')
    .execute();
  const names = brands.map(({ brand_name }) => brand_name);
  return [...new Set([...(own?.brand_name ? [own.brand_name] : []), ...names])];
}

async function createBrands(config: Config['service'], deps: Timed): Promise<Brands> {
  const { baseUrl } = config.v1;
  const { level, perBrand } = config.dialect.v1;
  const memory = {
    known: await knownOf(config, deps),
    async keep(reads: readonly string[]) {
      const text = JSON.stringify({ baseUrl, level, reads });
      await writeState(deps.store.db, KEY, text, deps.clock);
    },
  };
  return {
    ...createBrandNeeds(perBrand, memory),
    candidates: (barcode) => candidatesIn(deps, barcode),
  };
}

const LOGIN_KEY = 'last_login_at';

/** Rows of a list that are written in one transaction; other writers wait while it lasts. */
const BATCH_ROWS = 512;

/**
 * Keeps the time of the last log-in in the database, so that the pause between log-ins also holds
 * while the daemon crashes again and again.
 */
async function loginSpacing(store: Store, clock: Clock): Promise<LoginSpacing> {
  let last = Number((await readState(store.db, LOGIN_KEY)) ?? Number.NaN);
  return {
    lastLoginAt: () => (Number.isNaN(last) ? undefined : last),
    async recordLogin(at) {
      last = at;
      await writeState(store.db, LOGIN_KEY, String(at), clock);
    },
  };
}

export function accountOf({ v1 }: Pick<Config['service'], 'v1'>): Account {
  const clientId = v1.login?.clientId ?? null;
  return {
    address: v1.baseUrl,
    clientId: clientId instanceof Secret ? clientId.reveal() : clientId,
  };
}

/** Error of requests while the account may not be that of the mirror. */
function accountUnknown(why: string): RetryLaterError {
  const hint = 'selvedge account show';
  return new RetryLaterError('account.unknown', `${PAUSED_BY.account}: ${why}`, { hint });
}

type Login = NonNullable<Config['service']['v1']['login']>;

function loginCredential(
  baseUrl: string,
  { clientId, clientSecret }: Login,
  dialect: Config['service']['dialect']['v1' | 'v2'],
): Credential {
  return {
    kind: 'login',
    url: `${baseUrl}/auth/login`,
    header: dialect.tokenHeader,
    scheme: dialect.tokenScheme,
    idMember: dialect.idMember,
    secretMember: dialect.secretMember,
    clientId: clientId instanceof Secret ? clientId.reveal() : clientId,
    clientSecret,
    tokenPointers: 'tokenPointer' in dialect ? [dialect.tokenPointer] : dialect.tokenPointers,
  };
}

function v1Credential({ v1, dialect }: Config['service']): Credential {
  const { tokenHeader: header, tokenScheme: scheme } = dialect.v1;
  if (v1.apiKey !== null) return { kind: 'key', header, scheme, key: v1.apiKey };
  if (v1.login !== null) return loginCredential(v1.baseUrl, v1.login, dialect.v1);
  throw new ConfigError('config.no_credential', 'service.v1 has neither login nor apiKey');
}

const RETRY_MS_MIN = 500;
const RETRY_MS_MAX = 30_000;

/** Milliseconds before each repetition of a request, each doubled. */
function retryWaits(attempts: number): number[] {
  return Array.from({ length: attempts - 1 }, (_, index) =>
    Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** index),
  );
}

export interface Service {
  readonly transport: Transport;
  readonly v1: V1Client;
  /** Client of V1 that works while all else is held, to find out whose account it is. */
  readonly unheld: V1Client;
  /** Client of V2; undefined while V2 is not enabled. */
  readonly v2: V2Client | undefined;
  /** How the account writes decimals in texts, as far as it is known. */
  readonly decimals: Decimals;
  /** Learned knowledge of which reads of V1 need a brand named. */
  readonly brands: Brands;
  /** Targets of raw calls that a person composes; `v2` is undefined while V2 is not enabled. */
  readonly raw: { readonly v1: RawTarget; readonly v2: RawTarget | undefined };
  /** Waits until a log-in may be sent, and notes its time; sessions do so themselves. */
  mayLogIn(): Promise<void>;
  /** State of each API that was ever asked, by the end of its last request. */
  answers(): readonly ServiceAnswer[];
  /** Number of log-ins since the start, by how they ended. */
  logins(): Readonly<Record<LoginResult, number>>;
}

export interface ServiceDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly scrubber: Scrubber;
  /** Log of the daemon; left out: a command logs nothing. */
  readonly log?: Logger;
  /** Aborts the waits for log-ins that nobody needs any more. */
  readonly stop: AbortSignal;
  /** Reason why nothing may be sent to the service; undefined: everything may. */
  readonly hold?: () => string | undefined;
  /** Asked before each request that changes something; left out: none needs a permit. */
  readonly permit?: Permits | undefined;
  /** Called when an API begins or ceases to answer. */
  readonly onAnswers?: (() => void) | undefined;
}

/** Creates what remembers of each configured API whether it answers, also over a restart. */
async function createAnswers(
  { v1, v2 }: Config['service'],
  { store, clock, onAnswers: onChange }: ServiceDeps,
) {
  const before = await readAnswers(store.db);
  const urls = { V1: v1.baseUrl, V2: v2.enabled ? v2.baseUrl : null };
  const known = APIS.flatMap((api) => {
    const url = urls[api];
    if (url === null) return [];
    const { host } = new URL(url);
    const last = before.find((one) => one.api === api && one.host === host);
    return [{ api, url, host, answering: createAnswering({ clock, before: last, onChange }) }];
  });
  return {
    of: (api: Api): Answering | undefined => known.find((one) => one.api === api)?.answering,
    asked: askedAmong(known),
    states: (): readonly ServiceAnswer[] =>
      known.flatMap(({ api, host, answering }) => {
        const state = answering.state();
        return state ? [{ api, host, ...state }] : [];
      }),
  };
}

const REFUSED = { key: 'the key is refused', login: 'the credentials are refused' } as const;

function createV2(
  { v2, dialect: { v2: dialect } }: Config['service'],
  session: (credential: Credential) => Sender,
): { readonly client: V2Client; readonly raw: RawTarget } | undefined {
  const { enabled, baseUrl, login } = v2;
  if (!enabled || baseUrl === null || login === null) return undefined;
  const paging = { pageRows: dialect.pageLimit, follow: dialect.paging };
  const sender = session(loginCredential(baseUrl, login, dialect));
  const client = createV2Client({ ...dialect, baseUrl, paging }, sender);
  return { client, raw: { baseUrl, sender, mediaType: dialect.mediaType } };
}

/** Route to the service and to the relay's API: certificates and proxy. */
export function routeOf({ caFile, proxy, clientCertificate }: Config['service']): Route {
  const caText = caFile === null ? undefined : readFileSync(caFile, 'utf8');
  const client = clientCertificate && {
    certText: readFileSync(clientCertificate.certificates, 'utf8'),
    key: clientCertificate.key,
  };
  const way = { caText, client: client ?? undefined };
  if (proxy === null) return { ...way, proxy: undefined };
  const { url, user, password } = proxy;
  if (user === null || password === null) return { ...way, proxy: { url, credentials: undefined } };
  const name = user instanceof Secret ? user.reveal() : user;
  return { ...way, proxy: { url, credentials: { user: name, password } } };
}

/**
 * Callbacks that give permits, log each dialect once, and the pace of requests when it falls below
 * the configured one or is back there.
 */
function tellers({
  log,
  permit,
}: ServiceDeps): Pick<TransportDeps, 'onDialect' | 'onPace' | 'permit'> {
  let isSlowed = false;
  return {
    permit,
    onDialect(dialect) {
      const isOld = dialect.startsWith('age=');
      if (isOld) log?.warn({ dialect }, 'a cache on the way gives old answers, which is forbidden');
      else log?.info({ dialect }, 'an answer of another form was read');
    },
    onPace({ perSecond = 0, perSecondMax = 0 }) {
      const wasSlowed = isSlowed;
      isSlowed = perSecond < perSecondMax;
      const fields = { requestsPerSecond: Number(perSecond.toPrecision(2)), most: perSecondMax };
      const setting = 'service.limits.requestsPerSecond';
      const slower = `the service says "too fast": it is asked more slowly (${setting})`;
      if (isSlowed && !wasSlowed) log?.warn(fields, slower);
      else if (!isSlowed) log?.info(fields, 'the service is asked as fast as it may be again');
      else log?.debug(fields, 'the pace is another');
    },
  };
}

export async function createService(
  config: Config['service'],
  deps: ServiceDeps,
): Promise<Service> {
  const { clock, random, scrubber } = deps;
  const { timeouts, limits } = config;
  const answers = await createAnswers(config, deps);
  const transport = createTransport(
    {
      ...TRANSPORT_DEFAULTS,
      requestsPerSecond: limits.requestsPerSecond,
      concurrencyMax: limits.concurrency,
      bodyBytesMax: limits.bodyMax,
      deadlines: {
        connectMs: timeouts.connect,
        firstByteMs: timeouts.firstByte,
        idleMs: timeouts.idle,
        totalMs: timeouts.total,
      },
      retryWaitsMs: retryWaits(config.retry),
      ...routeOf(config),
    },
    {
      clock,
      random,
      scrubber,
      ...tellers(deps),
      onAsked: answers.asked,
    },
  );
  const spacing = await loginSpacing(deps.store, clock);
  const gate = createLoginGate(clock, spacing, limits.loginSpacing, deps.stop);
  const { readToken, baseUrl } = config.v1;
  const dialect = config.dialect.v1;
  const decimals = await readDecimals(deps.store.db, baseUrl, dialect.decimals);
  const logins = { done: 0, refused: 0, failed: 0 };
  const session = (api: Api, credential: Credential) => {
    const onLogin = (result: LoginResult): void => {
      logins[result] += 1;
      if (result === 'failed') return;
      const refusal = result === 'refused' ? REFUSED[credential.kind] : undefined;
      answers.of(api)?.credentials(credential.header, refusal);
    };
    const own = { gate, onLogin, decimals: api === 'V1' ? decimals : undefined };
    return createSession(credential, { transport, clock, scrubber, ...own });
  };
  const held = (sender: Sender): Sender => heldBy(sender, deps.hold, accountUnknown);
  const v2 = createV2(config, (credential) => held(session('V2', credential)));
  const brands = await createBrands(config, deps);
  const sender = session('V1', v1Credential(config));
  const v1Options = {
    baseUrl,
    idempotencyHeader: dialect.idempotencyHeader ?? undefined,
    seasonParameter: dialect.seasonParameter,
    paths: dialect.paths,
    dialect,
    level: dialect.level,
    brands,
    variants: {
      ...VARIANT_LIST_DEFAULTS,
      mode: dialect.paging,
      pageRows: dialect.pageLimit,
      firstPage: dialect.firstPage,
      batchRows: BATCH_ROWS,
      streamMsMax: timeouts.pullTotal,
    },
  };
  const catalogSender =
    readToken === null
      ? undefined
      : session('V1', { kind: 'key', header: dialect.readTokenHeader, key: readToken });
  const v1 = createV1Client(v1Options, {
    sender: held(sender),
    catalogSender: catalogSender && held(catalogSender),
  });
  const unheld = createV1Client(v1Options, { sender, catalogSender });
  // Raw calls are not held, because the person who makes them looks at the answer.
  const raw = { v1: { baseUrl, sender }, v2: v2?.raw };
  const { pass: mayLogIn } = gate;
  const clients = { v1, unheld, v2: v2?.client, brands, decimals };
  const told = { answers: answers.states, logins: () => ({ ...logins }) };
  return { transport, ...clients, raw, mayLogIn, ...told };
}
