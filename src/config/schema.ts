/**
 * The one description of the configuration. It is strict (unknown settings are refused) and has no
 * defaults: the shipped `config/selvedge.yaml` has every setting, and a user's file is laid over
 * it. Durations become milliseconds, sizes bytes, secrets {@link Secret} objects.
 */
import { isIP } from 'node:net';
import { z } from 'zod';
import { Secret } from '../lib/secret.ts';
import {
  choice,
  delaysInOrder,
  duration,
  flag,
  isLoopbackAddress,
  onceSound,
  size,
  text,
  WRONG_KIND,
  whole,
} from './fields.ts';
import { parseReference, type Read, type SecretReference } from './secret-source.ts';
import { serviceSection } from './service-section.ts';
import { streamsSection } from './streams-section.ts';

/** What the schema needs from outside to turn written values into usable ones. */
export interface SchemaContext {
  /** Makes a written path absolute. */
  resolvePath(written: string): string;
  readSecret(reference: SecretReference): Read;
  /** Told of each secret that was read or handed in. */
  secretLoaded(secret: Secret): void;
}

export interface ContextFields {
  path(example: string): z.ZodType<string, string>;
  secret(name: string): z.ZodType<Secret>;
}

const SECRET_META = {
  expected: 'a reference to a secret: { file: … }, { env: … } or { credential: … }',
  example: '{ file: /etc/selvedge/secrets/client-secret }',
  secret: true,
};

function pathField(example: string, context: SchemaContext): z.ZodType<string, string> {
  const meta = { expected: 'a path', example };
  return text('a path', example).transform(context.resolvePath).meta(meta);
}

function secretField(name: string, context: SchemaContext): z.ZodType<Secret> {
  const loaded = z.unknown().transform((written, ctx): Secret => {
    const secret = loadSecret(name, written, context, ctx);
    if (secret !== undefined) context.secretLoaded(secret);
    return secret ?? z.NEVER;
  });
  return loaded.meta(SECRET_META);
}

function contextFields(context: SchemaContext): ContextFields {
  return {
    path: (example) => pathField(example, context),
    secret: (name) => secretField(name, context),
  };
}

function loadSecret(
  name: string,
  written: unknown,
  context: SchemaContext,
  ctx: z.RefinementCtx,
): Secret | undefined {
  if (written instanceof Secret) return written;
  const reference = parseReference(written);
  if (reference === undefined) {
    const literal = typeof written === 'string' || typeof written === 'number';
    const message = literal ? 'is a literal secret; secrets stand outside this file' : WRONG_KIND;
    ctx.addIssue({ code: 'custom', message });
    return undefined;
  }
  const read = context.readSecret(reference);
  if ('value' in read) return new Secret(name, read.value);
  ctx.addIssue({ code: 'custom', message: read.problem, params: { hint: read.hint } });
  return undefined;
}

function address() {
  return text('an IP address of this machine', '127.0.0.1')
    .refine((written) => isIP(written) !== 0, { error: WRONG_KIND })
    .meta({ expected: 'an IP address of this machine', example: '127.0.0.1' });
}

function storeSection() {
  return z.strictObject({
    busyTimeout: duration('0s', '1m'),
    lockLease: duration('5s', '10m'),
  });
}

function listenerSection(fields: ContextFields) {
  const secret = z.strictObject({
    secret: fields.secret('listener.secrets'),
    notAfter: z.iso
      .datetime({ offset: true })
      .transform((written) => Date.parse(written))
      .meta({ expected: 'a time with its zone, in quotes', example: '"2027-01-31T00:00:00Z"' })
      .nullish(),
  });
  const section = z.strictObject({
    host: address(),
    port: whole(0, 65_535),
    path: text('a path that begins with a slash', '/webhooks', /^\/[\w./-]*$/),
    public: flag(),
    secrets: z.array(secret).max(8).meta({
      expected: 'a list of up to 8 secrets',
      example: '[{ secret: { file: … } }]',
      secret: true,
    }),
    tolerance: duration('1s', '1h'),
    bodyMax: size('1KiB', '16MiB'),
    connectionsMax: whole(1, 65_535),
    headersTimeout: duration('1s', '5m'),
    requestTimeout: duration('1s', '5m'),
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

function localSection() {
  const section = z.strictObject({ host: address(), port: whole(0, 65_535) });
  return section.superRefine(({ host }, ctx) => {
    if (isLoopbackAddress(host)) return;
    const message = 'must be an address that only this machine can reach';
    ctx.addIssue({ code: 'custom', path: ['host'], message, params: { hint: '127.0.0.1 or ::1' } });
  }, onceSound('host'));
}

function outboxSection() {
  const section = z.strictObject({
    stop: flag(),
    dryRun: flag(),
    quietTime: duration('0s', '7d'),
    attemptsMax: whole(1, 100),
    delayMin: duration('0s', '1h'),
    delayMax: duration('1s', '1d'),
  });
  return section.superRefine(delaysInOrder, onceSound('delayMin', 'delayMax'));
}

/** The schema of the whole file, bound to the paths and secrets of this start. */
export function createSchema(context: SchemaContext) {
  const fields = contextFields(context);
  return z.strictObject({
    instance: text('a short name (a-z, 0-9, -)', 'main', /^[a-z0-9][a-z0-9-]{0,31}$/),
    dataDir: fields.path('/var/lib/selvedge'),
    service: serviceSection(fields),
    store: storeSection(),
    listener: listenerSection(fields),
    local: localSection(),
    streams: streamsSection(),
    rules: z.strictObject({
      directory: fields.path('/etc/selvedge/rules'),
      mode: choice('observe', 'shadow', 'live'),
    }),
    decisions: z.strictObject({
      settle: duration('0s', '1d'),
      reconsider: duration('1s', '1d'),
    }),
    outbox: outboxSection(),
    log: z.strictObject({
      level: choice('trace', 'debug', 'info', 'warn', 'error'),
      format: choice('auto', 'json', 'journal', 'human'),
    }),
  });
}

/** The configuration as the program uses it: milliseconds, bytes, absolute paths, secrets. */
export type Config = z.output<ReturnType<typeof createSchema>>;
