/**
 * Settings of the two addresses to listen on: for the relay's events, and for people on this
 * machine.
 */
import { isIP } from 'node:net';
import { z } from 'zod';
import type { ContextFields } from './context.ts';
import {
  choice,
  duration,
  flag,
  headerName,
  hostName,
  isLoopbackAddress,
  onceSound,
  size,
  text,
  WRONG_KIND,
  whole,
} from './fields.ts';

function address() {
  return text('an IP address of this machine', '127.0.0.1')
    .refine((written) => isIP(written) !== 0, { error: WRONG_KIND })
    .register(z.globalRegistry, {
      expected: 'an IP address of this machine',
      example: '127.0.0.1',
    });
}

/** Whether a text is a range of IP addresses (`10.0.0.0/8`, `2001:db8::/32`) or a single one. */
function isAddressRange(written: string): boolean {
  const [address = '', bits, ...rest] = written.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return (
    bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 6 ? 128 : 32))
  );
}

function addressRanges() {
  return z
    .array(z.string().refine(isAddressRange, { error: WRONG_KIND }))
    .max(64)
    .register(z.globalRegistry, {
      expected: 'a list of up to 64 addresses or ranges, in quotes',
      example: '["203.0.113.0/24", "2001:db8::/32"]',
    });
}

function accessSection(fields: ContextFields) {
  return z.strictObject({
    pathToken: fields.token('listener.access.pathToken').nullable(),
    headerToken: fields.token('listener.access.headerToken').nullable(),
    addresses: addressRanges(),
    proxies: addressRanges(),
    proxyHeader: headerName(),
  });
}

export function listenerSection(fields: ContextFields) {
  const secret = z.strictObject({
    secret: fields.signingSecret('listener.secrets'),
    notAfter: z.iso
      .datetime({ offset: true })
      .transform((written) => Date.parse(written))
      .register(z.globalRegistry, {
        expected: 'a time with its zone, in quotes',
        example: '"2027-01-31T00:00:00Z"',
      })
      .nullish(),
  });
  const section = z.strictObject({
    host: address(),
    port: whole(0, 65_535),
    path: text('a path that begins with a slash', '/webhooks', /^\/[\w./-]*$/),
    access: accessSection(fields),
    public: flag(),
    secrets: z.array(secret).max(8).register(z.globalRegistry, {
      expected: 'a list of up to 8 secrets',
      example: '[{ secret: { file: … } }]',
      secret: true,
    }),
    bodyMax: size('1KiB', '16MiB'),
    keepAlive: duration('0s', '10m'),
  });
  return section.superRefine(
    ({ host, public: isPublic, secrets }, ctx) => {
      if (isLoopbackAddress(host)) return;
      if (!isPublic) {
        const message = 'can be reached from other machines; say so with public: true';
        const hint = 'safer: 127.0.0.1 behind a reverse proxy or a tunnel with TLS';
        ctx.addIssue({ code: 'custom', path: ['host'], message, params: { hint } });
      }
      if (secrets.length === 0) {
        const message = 'needs a signing secret when other machines can reach the listener';
        ctx.addIssue({ code: 'custom', path: ['secrets'], message });
      }
    },
    onceSound('host', 'public', 'secrets'),
  );
}

const HOST_NAMES_MAX = 16;

export function localSection() {
  const hostNames = z
    .array(hostName())
    .max(HOST_NAMES_MAX)
    .register(z.globalRegistry, {
      expected: `a list of up to ${HOST_NAMES_MAX} host names, without port`,
      example: '[metrics.example.com]',
    });
  const section = z.strictObject({ host: address(), port: whole(0, 65_535), hostNames });
  return section.superRefine(({ host }, ctx) => {
    if (isLoopbackAddress(host)) return;
    const message = 'must be an address that only this machine can reach';
    ctx.addIssue({ code: 'custom', path: ['host'], message, params: { hint: '127.0.0.1 or ::1' } });
  }, onceSound('host'));
}

/** Whether an address is a bare origin, `https://host` or with a port, without a path. */
function isBareOrigin(written: string): boolean {
  if (!URL.canParse(written)) return false;
  const { protocol, origin } = new URL(written);
  return (protocol === 'https:' || protocol === 'http:') && origin === written;
}

function operatorList() {
  const operator = z.strictObject({
    name: text('a short name', 'anna', /^[\p{L}\p{N}][\p{L}\p{N} .@_+-]{0,99}$/u),
    role: choice('viewer', 'operator', 'approver'),
    password: text(
      'what "selvedge console password" prints',
      'scrypt:32768:…',
      /^scrypt:\d/,
    ).optional(),
    sees: z.array(choice('addresses')).max(1).default([]),
  });
  return z.array(operator).max(100).register(z.globalRegistry, {
    expected: 'a list of up to 100 operators',
    example: '[{ name: anna, role: operator, password: "scrypt:…" }]',
    secret: true,
  });
}

function rateList() {
  const rate = z.strictObject({
    currency: text('a currency', 'EUR', /^[A-Z]{3}$/),
    rate: z.number().positive().register(z.globalRegistry, {
      expected: 'a number above 0',
      example: '0.134',
    }),
  });
  return z.array(rate).max(100).register(z.globalRegistry, {
    expected: 'a list of up to 100 currencies with their rates',
    example: '[{ currency: EUR, rate: 1 }, { currency: DKK, rate: 0.134 }]',
  });
}

function proxySection(fields: ContextFields) {
  return z.strictObject({
    userHeader: headerName().nullable(),
    secretHeader: headerName(),
    secret: fields.token('console.proxy.secret').nullable(),
    role: choice('viewer', 'operator', 'approver').nullable(),
  });
}

interface Ways {
  readonly operators: readonly { readonly name: string; readonly password?: string | undefined }[];
  readonly proxy: z.output<ReturnType<typeof proxySection>>;
}

/** Checks that people can sign in to the console, and only as intended. */
function waysAreSound({ operators, proxy }: Ways, ctx: z.RefinementCtx): void {
  const { userHeader, secretHeader, secret } = proxy;
  const names = operators.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) {
    ctx.addIssue({ code: 'custom', path: ['operators'], message: `has ${twice} twice` });
  }
  const shut = operators.find(({ password }) => password === undefined && userHeader === null);
  if (shut !== undefined) {
    const message = `has no password for ${shut.name}, and no proxy signs people in`;
    const hint = 'selvedge console password, or set console.proxy';
    ctx.addIssue({ code: 'custom', path: ['operators'], message, params: { hint } });
  }
  if (userHeader !== null && secret === null) {
    const message = 'is needed beside userHeader: anybody can send a header';
    const hint = 'a token of 16 characters and more, which only the proxy has too';
    ctx.addIssue({ code: 'custom', path: ['proxy', 'secret'], message, params: { hint } });
  }
  if (userHeader?.toLowerCase() === secretHeader.toLowerCase()) {
    const message = 'must not be the same header as userHeader';
    ctx.addIssue({ code: 'custom', path: ['proxy', 'secretHeader'], message });
  }
}

export function consoleSection(fields: ContextFields) {
  const section = z.strictObject({
    enabled: flag(),
    host: address(),
    port: whole(0, 65_535),
    publicUrl: z
      .string()
      .refine(isBareOrigin, { error: WRONG_KIND })
      .register(z.globalRegistry, {
        expected: 'the address that people type, without a path, or null',
        example: 'https://selvedge.example.com',
      })
      .nullable(),
    timeZone: z
      .string()
      .refine((zone) => Intl.supportedValuesOf('timeZone').includes(zone) || zone === 'UTC', {
        error: WRONG_KIND,
      })
      .register(z.globalRegistry, {
        expected: 'a time zone, or null for the one of the rules',
        example: 'Europe/Copenhagen',
      })
      .nullable(),
    reasons: z.array(z.string().min(1).max(200)).max(20).register(z.globalRegistry, {
      expected: 'reasons of at most 200 characters, 20 at most',
      example: '[goods are on their way, customer called]',
    }),
    rates: rateList(),
    operators: operatorList(),
    proxy: proxySection(fields),
    sessions: z.strictObject({ last: duration('5m', '30d'), idle: duration('1m', '30d') }),
  });
  return section.superRefine(
    ({ host, publicUrl, operators, proxy }, ctx) => {
      waysAreSound({ operators, proxy }, ctx);
      if (publicUrl?.startsWith('http:') && !isLoopbackAddress(new URL(publicUrl).hostname)) {
        const message = 'must be https: passwords and sessions would be readable on the way';
        const hint = 'put a reverse proxy with TLS in front of it';
        ctx.addIssue({ code: 'custom', path: ['publicUrl'], message, params: { hint } });
      }
      if (!isLoopbackAddress(host) && publicUrl === null) {
        const message = 'can be reached from other machines, but publicUrl is not set';
        const hint = 'safer: 127.0.0.1 behind a reverse proxy, whose address is publicUrl';
        ctx.addIssue({ code: 'custom', path: ['host'], message, params: { hint } });
      }
    },
    onceSound('host', 'publicUrl', 'operators', 'proxy'),
  );
}
