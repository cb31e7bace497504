/**
 * Settings of the remote side. The wire contract (docs/wire.md) marks choices that no document
 * shows; each of them is a setting here, so that an account that differs needs no new program.
 */
import { z } from 'zod';
import { STATUSES } from '../statuses.ts';
import { type ContextFields, isKeyOf } from './context.ts';
import {
  baseUrl,
  choice,
  decimal,
  duration,
  flag,
  headerName,
  onceSound,
  pointer,
  proxyUrl,
  size,
  text,
  WRONG_KIND,
  whole,
} from './fields.ts';

const MEMBER = /^[A-Za-z_]\w{0,63}$/;

/** Matches an ISO 4217 code of a currency, in capitals. */
const CURRENCY = /^[A-Z]{3}$/;

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

function timeZone() {
  return z.string().refine(isTimeZone, { error: WRONG_KIND }).register(z.globalRegistry, {
    expected: 'the name of a time zone (IANA)',
    example: 'Europe/Copenhagen',
  });
}

/** Field for status words of an account that the contract spells otherwise. */
function statusWords() {
  const meanings = ['pending', 'accepted', 'rejected', 'canceled', 'fulfilled'] as const;
  const pair = z
    .strictObject({
      of: choice('delivery', 'order', 'refund', 'pendingRefund'),
      says: text('a status as the service spells it', 'awaiting_acceptance'),
      means: choice(...meanings, 'partially_fulfilled', 'confirmed'),
    })
    .superRefine(
      ({ of, means }, ctx) => {
        const known: readonly string[] = STATUSES[of];
        if (known.includes(means)) return;
        const message = `is no status of a ${of}: ${known.join(', ')}`;
        ctx.addIssue({ code: 'custom', path: ['means'], message });
      },
      onceSound('of', 'means'),
    );
  return z.array(pair).max(50).register(z.globalRegistry, {
    expected: 'a list of { of, says, means }',
    example: '[{ of: delivery, says: awaiting_acceptance, means: pending }]',
  });
}

/** Field for member names of an account that the contract names otherwise. */
function memberNames() {
  const pair = z.strictObject({
    of: choice('variant', 'details'),
    ours: text('the name of a member in the contract', 'styleNo', MEMBER),
    theirs: text('the name of a member', 'style_number', /^[^\s"]{1,64}$/),
  });
  return z.array(pair).max(50).register(z.globalRegistry, {
    expected: 'a list of { of, ours, theirs }',
    example: '[{ of: details, ours: styleNo, theirs: style_number }]',
  });
}

/** Section of a log-in; null while neither of its two credentials is set. */
function login(fields: ContextFields, name: string) {
  const expected = 'a client id (a number in quotes), or a reference to a secret that holds it';
  const clientId = fields.textOrSecret(`${name}.clientId`, expected, 'erp-1');
  return z
    .strictObject({
      clientId: clientId.nullable(),
      clientSecret: fields.secret(`${name}.clientSecret`).nullable(),
    })
    .transform(({ clientId: id, clientSecret }, ctx) => {
      if (id === null && clientSecret === null) return null;
      if (id !== null && clientSecret !== null) return { clientId: id, clientSecret };
      const missing = id === null ? 'clientId' : 'clientSecret';
      ctx.addIssue({ code: 'custom', path: [missing], message: 'is not set; both or neither' });
      return z.NEVER;
    });
}

function resourcePath(example = 'style-colors') {
  return text('a path without a slash at its ends', example, /^[\w.-]+(\/[\w.-]+)*$/);
}

function v1(fields: ContextFields) {
  const section = z.strictObject({
    baseUrl: baseUrl(),
    login: login(fields, 'service.v1.login'),
    apiKey: fields.headerSecret('service.v1.apiKey').nullable(),
    readToken: fields.headerSecret('service.v1.readToken').nullable(),
  });
  return section.superRefine(
    ({ login: loggedIn, apiKey }, ctx) => {
      if ((loggedIn === null) !== (apiKey === null)) return;
      const message = loggedIn === null ? 'is not set, nor is apiKey' : 'is set, and apiKey too';
      const hint = 'set login.clientId and login.clientSecret, or apiKey, but not both';
      ctx.addIssue({ code: 'custom', path: ['login'], message, params: { hint } });
    },
    onceSound('login', 'apiKey'),
  );
}

function v2(fields: ContextFields) {
  const section = z.strictObject({
    enabled: flag(),
    baseUrl: baseUrl().nullable(),
    login: login(fields, 'service.v2.login'),
  });
  return section.superRefine(
    (value, ctx) => {
      if (!value.enabled) return;
      for (const name of ['baseUrl', 'login'] as const) {
        if (value[name] !== null) continue;
        const hint = 'set it, or enabled: false';
        const message = 'is not set, but V2 is enabled';
        ctx.addIssue({ code: 'custom', path: [name], message, params: { hint } });
      }
    },
    onceSound('enabled', 'baseUrl', 'login'),
  );
}

/** Section of how the account answers, which `init` finds out. */
function dialect() {
  const access = z.strictObject({
    idMember: text("the name of a member of the log-in's body", 'clientID', MEMBER),
    secretMember: text("the name of a member of the log-in's body", 'clientSecret', MEMBER),
    tokenHeader: headerName(),
    tokenScheme: choice('plain', 'bearer'),
    pageLimit: whole(1, 250),
  });
  return z.strictObject({
    v1: access.extend({
      level: text('a level of the V1 interface, in quotes', '"1.4.14"', /^\d+\.\d+\.\d+$/),
      tokenPointer: pointer(),
      readTokenHeader: headerName(),
      idempotencyHeader: headerName().nullable(),
      paging: choice('stream', 'pages'),
      firstPage: choice('learned', 'zero', 'one'),
      perBrand: choice('auto', 'always', 'never'),
      seasonParameter: text('the name of a query parameter', 'seasonName', MEMBER),
      unlisted: choice('unknown', 'zero'),
      freightSpelling: choice('freight', 'Freight'),
      decimals: choice('learned', 'point', 'comma'),
      preOrderNames: choice('learned', 'SeasonName', 'seasonName'),
      paths: z.strictObject({ pendingRefunds: resourcePath('pending-refunds') }),
      currency: text('a currency code (ISO 4217)', 'EUR', CURRENCY).nullable(),
      timeZone: timeZone(),
      statuses: statusWords(),
      members: memberNames(),
    }),
    v2: access.extend({
      tokenPointers: z.array(pointer()).min(1).max(8).register(z.globalRegistry, {
        expected: 'a list of 1 to 8 JSON pointers',
        example: '[/data/token]',
      }),
      paging: choice('token', 'pages', 'links'),
      sparseFields: flag(),
      mediaType: choice('application/vnd.api+json', 'application/json'),
      paths: z.strictObject({
        styleColor: resourcePath(),
        brand: resourcePath(),
        type: resourcePath(),
        gender: resourcePath(),
        country: resourcePath(),
      }),
    }),
  });
}

/**
 * Section of the certificate that we show to the service; null while neither of its parts is set.
 */
function clientCertificate(fields: ContextFields) {
  return z
    .strictObject({
      file: fields.certificates('/etc/selvedge/client.pem').nullable(),
      key: fields.privateKey('service.clientCertificate.key').nullable(),
    })
    .transform(({ file, key }, ctx) => {
      if (file === null && key === null) return null;
      if (file !== null && key !== null) {
        if (isKeyOf(file, key)) return { certificates: file, key };
        const message = 'is not the private key of the certificate in file';
        ctx.addIssue({ code: 'custom', path: ['key'], message });
        return z.NEVER;
      }
      const missing = file === null ? 'file' : 'key';
      ctx.addIssue({ code: 'custom', path: [missing], message: 'is not set; both or neither' });
      return z.NEVER;
    });
}

/** Section of the proxy; null while it has no address. */
function proxy(fields: ContextFields) {
  const expected = 'the name of a user, or a reference to a secret that holds it';
  return z
    .strictObject({
      url: proxyUrl().nullable(),
      user: fields.textOrSecret('service.proxy.user', expected, 'selvedge').nullable(),
      password: fields.secret('service.proxy.password').nullable(),
    })
    .transform(({ url, user, password }, ctx) => {
      if ((user === null) !== (password === null)) {
        const message = 'is not set; both user and password, or neither';
        const path = [user === null ? 'user' : 'password'];
        ctx.addIssue({ code: 'custom', path, message });
      }
      if (url !== null) return { url, user, password };
      if (user === null || password === null) return null;
      const message = 'is not set, but user and password are';
      ctx.addIssue({ code: 'custom', path: ['url'], message });
      return z.NEVER;
    });
}

export function serviceSection(fields: ContextFields) {
  return z.strictObject({
    v1: v1(fields),
    v2: v2(fields),
    dialect: dialect(),
    timeouts: z.strictObject({
      connect: duration('100ms', '5m'),
      firstByte: duration('100ms', '10m'),
      idle: duration('100ms', '10m'),
      total: duration('1s', '1h'),
      pullTotal: duration('1s', '1d'),
    }),
    limits: z.strictObject({
      requestsPerSecond: decimal(0.01, 10_000, '20'),
      concurrency: whole(3, 256),
      bodyMax: size('64KiB', '1GiB'),
      loginSpacing: duration('0s', '10m'),
    }),
    retry: whole(1, 20),
    caFile: fields.certificates('/etc/ssl/certs/company.pem').nullable(),
    clientCertificate: clientCertificate(fields),
    proxy: proxy(fields),
  });
}
