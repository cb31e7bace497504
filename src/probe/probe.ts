/**
 * Finds out how an account answers, by reading only: the choices that the wire contract leaves open
 * (docs/wire.md, **C**) and the dialects that it expects. Only GETs and log-ins are sent, one at a
 * time, at a rate that the account accepts; log-ins have a spacing of their own. Each finding names
 * the observation behind it, and what speaks against it.
 *
 * Throws where there is no way in; everything else is a finding.
 */

import type { Route } from '../client/http/tunnel.ts';
import { createProbeClient, type ProbeClient } from '../client/probe-client.ts';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../lib/clock.ts';
import { ConfigError, SelvedgeError } from '../lib/errors.ts';
import { revealed, type Scrubber } from '../lib/secret.ts';
import { type Access, findAccess, type Hands, type Target } from './access.ts';
import { isGood, isMissing, rowsOf, wordsOf } from './answers.ts';
import {
  type Description,
  findDescription,
  freightSpellingOf,
  loginNamesOf,
  pendingRefundsOf,
  seasonParametersOf,
  versionOf,
  waysOf,
} from './description.ts';
import type { Finding, Witness } from './findings.ts';
import { type LevelSign, levelOf } from './level.ts';
import { probeOrders } from './orders.ts';
import { probeSeasons } from './season.ts';
import { probeStock, probeUnlisted } from './stock.ts';
import { createTalk, namesIn, type Talk } from './talk.ts';
import { probeTimes } from './times.ts';
import { probeV2 } from './v2.ts';

type V1 = Config['service']['dialect']['v1'];

export interface ProbeParts {
  readonly config: Pick<Config, 'service' | 'streams'>;
  readonly way: Route;
  readonly clock: Clock;
  readonly scrubber: Scrubber;
  /** Waits until a log-in may be sent, and remembers its time. */
  readonly mayLogIn: () => Promise<void>;
  /** Milliseconds between two requests; the default is gentle to a limit that is not known. */
  readonly gapMs?: number | undefined;
  /** Called with each thing that the probe looks for, before it does. */
  readonly looking?: ((what: string) => void) | undefined;
  /** Called with each finding when it is made. */
  readonly found?: ((finding: Finding) => void) | undefined;
  /** Description that a person gave, in place of the one that the service publishes. */
  readonly description?: Description | undefined;
}

export interface Probed {
  readonly findings: readonly Finding[];
  readonly requests: number;
  /** Description of V1, published by the service or given by a person. */
  readonly description: Description | undefined;
}

const OFF = 'streams.off';
const GAP_MS = 50;
/**
 * Maximum bytes of a body: enough to see whether a list is whole, without reading a million
 * variants.
 */
const BODY_BYTES_MAX = 8_388_608;

/**
 * Addresses below a base URL without a version (`https://key.example.com`) where an interface may
 * be.
 */
function otherBases(baseUrl: string, version: 'v1' | 'v2'): readonly string[] {
  if (/\/v\d+$/.test(baseUrl)) return [];
  return [`${baseUrl}/api/${version}`, `${baseUrl}/${version}`];
}

function v1Target({ service }: ProbeParts['config'], description: Description | undefined): Target {
  const { v1 } = service;
  const own = service.dialect.v1;
  const { login, apiKey } = v1;
  const secret = apiKey ?? login?.clientSecret;
  if (!secret) throw new ConfigError('config.no_credential', 'service.v1 has no login nor apiKey');
  return {
    version: 'v1',
    baseUrl: v1.baseUrl,
    otherBases: otherBases(v1.baseUrl, 'v1'),
    clientId: login ? revealed(login.clientId) : undefined,
    secret,
    isKey: apiKey !== null,
    names: [own.idMember, own.secretMember],
    pointers: [own.tokenPointer],
    way: { header: own.tokenHeader, scheme: own.tokenScheme },
    describedNames: description && loginNamesOf(description),
    describedWays: (description ? waysOf(description) : []).filter(
      ({ header }) => header.toLowerCase() !== own.readTokenHeader.toLowerCase(),
    ),
    lists: ['/brands', '/orders', '/variants/stock?limit=1'],
  };
}

async function probeFreight(talk: Talk, own: V1, described?: string) {
  const { witness } = talk;
  witness.looking('freight');
  const answer = await talk.get('/freight');
  if (isMissing(answer)) {
    const seen = `GET /freight: ${wordsOf(answer).slice(0, 60)}`;
    const doubt = 'orders that name a freight cannot be checked before they leave';
    witness.absent('freight', seen, doubt);
  }
  const setting = 'service.dialect.v1.freightSpelling';
  if (described === undefined) {
    const doubt = 'only a new order would show it: it is left as it is';
    witness.found({ setting, value: own.freightSpelling, seen: 'not published', doubt });
  } else witness.found({ setting, value: described, seen: 'its description names it so' });
}

async function probeReadToken(parts: ProbeParts, talk: Talk, asker: ProbeClient): Promise<void> {
  const { service } = parts.config;
  const { readToken } = service.v1;
  const { readTokenHeader } = service.dialect.v1;
  if (readToken === null) return;
  const headers = { [readTokenHeader]: readToken.reveal() };
  const answer = await asker.ask({ method: 'GET', url: `${talk.baseUrl}/brands`, headers });
  const seen = `GET /brands with ${readTokenHeader}: ${wordsOf(answer).slice(0, 60)}`;
  const doubt = isGood(answer) ? undefined : 'the read-only key opens nothing under this header';
  talk.witness.found({
    setting: 'service.dialect.v1.readTokenHeader',
    value: readTokenHeader,
    seen,
    doubt,
  });
}

function tellPerBrand({ branded, witness }: Talk, own: V1): void {
  const setting = 'service.dialect.v1.perBrand';
  const reads = [...branded.keys()];
  if (reads.length === 0) {
    witness.found({ setting, value: own.perBrand, seen: 'no list asks for a brand' });
    return;
  }
  const seen = [...branded.values()].join('; ');
  // A client that needs a brand for some lists only finds out which by itself.
  const value = reads.length === 3 ? 'always' : 'auto';
  witness.found({ setting, value, seen });
}

async function probeV1(
  parts: ProbeParts,
  talk: Talk,
  asker: ProbeClient,
  description: Description | undefined,
): Promise<void> {
  const { witness } = talk;
  const own = parts.config.service.dialect.v1;
  witness.looking('brands');
  const brands = await talk.get('/brands');
  const names = namesIn(rowsOf(brands, 'brands') ?? [], 'brandName', 'name');
  talk.know(names);
  const hasBrands = !isMissing(brands);
  if (!hasBrands) {
    const seen = `GET /brands: ${wordsOf(brands).slice(0, 60)}`;
    witness.absent('brands', seen);
  }
  const listed = { since: '1.2.7', has: hasBrands, seen: `GET /brands: ${names.length} brands` };
  await probeFreight(talk, own, description && freightSpellingOf(description));
  const stock = await probeStock(talk, own);
  const described = description ? seasonParametersOf(description) : [];
  const season = await probeSeasons(talk, own.seasonParameter, described);
  tellPerBrand(talk, own);
  const path = description && pendingRefundsOf(description);
  const orders = await probeOrders(talk, own, stock.currencies, path);
  const now = parts.clock.now();
  probeTimes(witness, orders.orders, orders.answer, now, own.timeZone, stock.currencies);
  await probeUnlisted(talk, stock, [...orders.barcodes, ...season.barcodes]);
  const signs: readonly LevelSign[] = [listed, ...stock.signs, ...season.signs, ...orders.signs];
  const version = description && versionOf(description);
  witness.found(levelOf(signs, version, description?.source));
  await probeReadToken(parts, talk, asker);
}

/** Address of V2: the configured one, else the one beside V1's (`…/api/v1` has `…/api/v2`). */
function v2Base({ v2 }: Config['service'], v1Base: string): string {
  return v2.baseUrl ?? (/\/v1$/.test(v1Base) ? v1Base.replace(/v1$/, 'v2') : `${v1Base}/api/v2`);
}

function v2Target({ service }: ProbeParts['config'], v1Base: string, d?: Description) {
  const { v1, v2, dialect } = service;
  const login = v2.login ?? v1.login;
  if (!login) return undefined;
  const target: Target = {
    version: 'v2',
    baseUrl: v2Base(service, v1Base),
    otherBases: v2.baseUrl === null ? [] : otherBases(v2.baseUrl, 'v2'),
    clientId: revealed(login.clientId),
    secret: login.clientSecret,
    isKey: false,
    names: [dialect.v2.idMember, dialect.v2.secretMember],
    pointers: dialect.v2.tokenPointers,
    way: { header: dialect.v2.tokenHeader, scheme: dialect.v2.tokenScheme },
    describedNames: d && loginNamesOf(d),
    describedWays: d ? waysOf(d) : [],
    lists: ['/pdm/styles?page[limit]=1', '/pdm/colors?page[limit]=1'],
  };
  return target;
}

/**
 * Finds the way into V2; undefined: V2 is not there, or not for these credentials, which is no
 * failure.
 */
async function findV2(
  parts: ProbeParts,
  hands: Hands,
  v1Base: string,
): Promise<Access | undefined> {
  const { witness, asker } = hands;
  const setting = 'service.v2.enabled';
  const base = v2Base(parts.config.service, v1Base);
  witness.looking(`V2 at ${base}`);
  const shut = await asker.ask({ method: 'GET', url: `${base}/pdm/styles` });
  if (isMissing(shut)) {
    const seen = `GET ${base}/pdm/styles: ${wordsOf(shut).slice(0, 60)}`;
    witness.found({ setting, value: false, seen, doubt: 'its address may be another one' });
    return undefined;
  }
  const published = await findDescription(asker, base);
  const description = published === 'shut' ? undefined : published;
  const target = v2Target(parts.config, v1Base, description);
  if (!target) {
    const seen = 'V2 has a log-in of its own, and there is none for it';
    witness.found({ setting, value: false, seen });
    return undefined;
  }
  try {
    const access = await findAccess(target, hands);
    const how = parts.config.service.v2.login ? '' : ', with the credentials of V1';
    const seen = `the log-in at ${access.baseUrl} was answered${how}`;
    witness.found({ setting: 'service.v2.baseUrl', value: access.baseUrl, seen });
    return access;
  } catch (error) {
    if (!(error instanceof SelvedgeError)) throw error;
    const own = parts.config.service.v2.login !== null;
    const seen = own ? error.message : `the credentials of V1 are none of V2's (${error.message})`;
    const doubt = own ? error.hint : undefined;
    witness.found({ setting, value: false, seen, doubt });
    return undefined;
  }
}

function askerOf({ config, way, clock, gapMs = GAP_MS }: ProbeParts): ProbeClient {
  const { timeouts } = config.service;
  const deadlines = {
    connectMs: timeouts.connect,
    firstByteMs: timeouts.firstByte,
    idleMs: timeouts.idle,
    totalMs: timeouts.total,
  };
  return createProbeClient({ ...way, deadlines, gapMs, bodyBytesMax: BODY_BYTES_MAX }, clock);
}

export async function probeAccount(parts: ProbeParts): Promise<Probed> {
  const findings: Finding[] = [];
  const off = new Set(parts.config.streams.off);
  const witness: Witness = {
    found(finding) {
      findings.push(finding);
      parts.found?.(finding);
    },
    absent(stream, seen, doubt) {
      off.add(stream);
      const before = findings.findLast(({ setting }) => setting === OFF);
      const all = before === undefined ? seen : `${before.seen}; ${seen}`;
      witness.found({ setting: OFF, value: [...off], seen: all, doubt: doubt ?? before?.doubt });
    },
    looking: (what) => parts.looking?.(what),
  };
  const { scrubber, mayLogIn, config } = parts;
  await using asker = askerOf(parts);
  const hands: Hands = { asker, scrubber, witness, mayLogIn };
  witness.looking('a published description');
  const early = parts.description ?? (await findDescription(asker, config.service.v1.baseUrl));
  const open = early === 'shut' ? undefined : early;
  const access = await findAccess(v1Target(config, open), hands);
  const { baseUrl, headers } = access;
  const isElsewhere = baseUrl !== config.service.v1.baseUrl;
  const late =
    early === 'shut' || (!open && isElsewhere)
      ? await findDescription(asker, baseUrl, headers)
      : undefined;
  const description = open ?? (late === 'shut' ? undefined : late);
  await probeV1(parts, createTalk(asker, access, hands), asker, description);
  const v2 = await findV2(parts, hands, baseUrl);
  if (v2) await probeV2(createTalk(asker, v2, hands), config.service.dialect.v2);
  const pace = asker.pace();
  if (pace) {
    const perSecond = Math.max(0.1, Math.floor(pace.requestsPerSecond * 10) / 10);
    const seen = 'faster ones were answered 429';
    const doubt = 'it is learned from few requests; the daemon slows down by itself as well';
    const setting = 'service.limits.requestsPerSecond';
    witness.found({ setting, value: perSecond, seen, doubt });
  }
  return { findings, requests: asker.sent(), description };
}
