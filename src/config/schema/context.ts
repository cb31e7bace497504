/**
 * Fields of the configuration whose values come from outside its file: paths, files and secrets.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { AbsentSecret, Secret } from '../../lib/secret.ts';
import { parseReference, type Read, type SecretReference } from '../source/secrets.ts';
import { addressProblem, type FieldMeta, text, WRONG_KIND } from './fields.ts';

/** Functions by which the schema turns written paths and secret references into usable values. */
export interface SchemaContext {
  /** Makes a written path absolute. */
  resolvePath(written: string): string;
  readSecret(reference: SecretReference): Read;
  /** Whether a secret that cannot be read is a mistake only when its value is used. */
  mayBeAbsent(reference: SecretReference): boolean;
  /** Receives each secret that was read. */
  secretLoaded(secret: Secret): void;
}

export interface ContextFields {
  path(example: string): z.ZodType<string, string>;
  /** Field for the path of a file that holds certificates as PEM. */
  certificates(example: string): z.ZodType<string, string>;
  /** Field for a secret; `name` stands in place of its value in logs. */
  secret(name: string): z.ZodType<Secret>;
  /**
   * Field for a secret that most processes work without: if unreadable, it is missed only when
   * used.
   */
  lateSecret(name: string): z.ZodType<Secret>;
  /** Field for a secret that is the whole value of an HTTP header. */
  headerSecret(name: string): z.ZodType<Secret>;
  /** Field for a text that some keep secret and others do not. */
  textOrSecret(name: string, expected: string, example: string): z.ZodType<string | Secret>;
  /** Field for a secret by which messages are signed or verified. */
  signingSecret(name: string): z.ZodType<Secret>;
  /** Field for a secret by which we sign messages; a public key cannot do that. */
  ownSigningSecret(name: string): z.ZodType<Secret>;
  /** Field for an address to call, which may hold a secret itself. */
  address(name: string): z.ZodType<string | Secret>;
  /** Field for a secret that stands unescaped in a path or a header. */
  token(name: string): z.ZodType<Secret>;
  /** Field for a private key as PEM, of several lines. */
  privateKey(name: string): z.ZodType<Secret>;
}

const SECRET_META = {
  expected: 'a reference to a secret: { file: … }, { env: … } or { credential: … }',
  example: '{ file: /etc/selvedge/secrets/client-secret }',
  secret: true,
};

/**
 * Minimum bytes of a signing key: shorter ones can be guessed. The standard asks for 24 bytes, but
 * some senders make shorter keys.
 */
const SIGNING_KEY_BYTES_MIN = 16;
const SIGNING_KEY_BYTES_MAX = 75;
/** Bytes of a public key (Ed25519). */
const PUBLIC_KEY_BYTES = 32;

function findSecret(
  name: string,
  written: unknown,
  context: SchemaContext,
): Secret | { readonly problem: string; readonly hint?: string } {
  const reference = parseReference(written);
  if (reference === undefined) {
    const isLiteral = typeof written === 'string' || typeof written === 'number';
    const problem = 'is a literal secret; secrets stand outside this file';
    return { problem: isLiteral ? problem : WRONG_KIND };
  }
  const read = context.readSecret(reference);
  if ('value' in read) return new Secret(name, read.value);
  return context.mayBeAbsent(reference) ? new AbsentSecret(name, read.problem, read.hint) : read;
}

function loadSecret(
  name: string,
  written: unknown,
  context: SchemaContext,
  ctx: z.RefinementCtx,
): Secret {
  const found = findSecret(name, written, context);
  if (found instanceof AbsentSecret) return found;
  if (found instanceof Secret) {
    context.secretLoaded(found);
    return found;
  }
  ctx.addIssue({ code: 'custom', message: found.problem, params: { hint: found.hint } });
  return z.NEVER;
}

function pathField(example: string, context: SchemaContext): z.ZodType<string, string> {
  const meta = { expected: 'a path', example };
  return text('a path', example).transform(context.resolvePath).register(z.globalRegistry, meta);
}

function secretField(name: string, context: SchemaContext): z.ZodType<Secret> {
  return z
    .unknown()
    .transform((written, ctx) => loadSecret(name, written, context, ctx))
    .register(z.globalRegistry, SECRET_META);
}

function textOrSecretField(
  name: string,
  meta: FieldMeta,
  context: SchemaContext,
): z.ZodType<string | Secret> {
  const loaded = z.unknown().transform((written, ctx): string | Secret => {
    if (typeof written === 'string' && written.trim() !== '') return written;
    if (typeof written !== 'number') return loadSecret(name, written, context, ctx);
    ctx.addIssue({ code: 'custom', message: WRONG_KIND });
    return z.NEVER;
  });
  return loaded.register(z.globalRegistry, { ...meta });
}

/**
 * Checks that a file holds a certificate: TLS silently accepts a file without one, and then trusts
 * nobody.
 */
function certificateProblem(path: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return 'names a file that cannot be read';
  }
  try {
    new X509Certificate(text);
    return undefined;
  } catch {
    return 'names a file that holds no certificate (PEM)';
  }
}

/**
 * Characters that Node sends in a header value; others fail in a way that looks like a broken
 * connection.
 */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Hint for a secret whose reference is right, so that an example of a reference would mislead. */
const UNFIT_SECRET = { hint: 'what it names must hold it alone: no quotes, no second line' };

/**
 * Matches signs of a secret that was copied wrong: a second line (the old secret, a note), a blank
 * at the end, curly quotes from a text program. No service hands these out, and with them each
 * log-in is refused.
 */
const COPIED_WRONG = /^\s|\s$|[\p{Cc}\p{Zl}\p{Zp}\u2018-\u201f]/u;
const COPIED_WRONG_ISSUE = {
  error: 'holds a line break, another control character, a curly quote or outer blanks',
  params: UNFIT_SECRET,
};

function isCopiedWell(value: string | Secret): boolean {
  if (!(value instanceof Secret) || value instanceof AbsentSecret) return true;
  return !COPIED_WRONG.test(value.reveal());
}

/** Matches tokens that need no escape and are too long to be guessed. */
const TOKEN = /^[A-Za-z0-9_-]{16,256}$/;

/**
 * Whether a secret is a signing secret as relays hand it out: `whsec_` (a shared key) or `whpk_` (a
 * public key) and base64.
 */
function isSigningSecret(secret: Secret): boolean {
  if (secret instanceof AbsentSecret) return true;
  const [, kind, encoded = ''] =
    /^(whsec_|whpk_)([A-Za-z0-9+/]+={0,2})$/.exec(secret.reveal()) ?? [];
  const { length } = Buffer.from(encoded, 'base64');
  // Base64 never has one character more than its groups of four, so part of it was lost in copying.
  if (encoded.replace(/=+$/, '').length % 4 === 1) return false;
  if (kind === 'whpk_') return length === PUBLIC_KEY_BYTES;
  return length >= SIGNING_KEY_BYTES_MIN && length <= SIGNING_KEY_BYTES_MAX;
}

function isPublicKey(secret: Secret): boolean {
  return !(secret instanceof AbsentSecret) && secret.reveal().startsWith('whpk_');
}

/** Describes the mistake in a private key; undefined: none. */
function keyProblem(pem: string): { readonly message: string; readonly hint: string } | undefined {
  if (pem.includes('ENCRYPTED')) {
    const hint = 'nobody is there to type its password: openssl pkey -in <key> -out <plain key>';
    return { message: 'holds a private key that is encrypted', hint };
  }
  try {
    createPrivateKey(pem);
    return undefined;
  } catch {
    const hint = 'it begins with -----BEGIN PRIVATE KEY----- (or RSA, or EC), whole as it was made';
    return { message: 'holds no private key (PEM)', hint };
  }
}

function privateKeyField(name: string, context: SchemaContext): z.ZodType<Secret> {
  return secretField(name, context)
    .superRefine((secret, ctx) => {
      const problem = secret instanceof AbsentSecret ? undefined : keyProblem(secret.reveal());
      if (!problem) return;
      const { message, hint } = problem;
      ctx.addIssue({ code: 'custom', message, params: { hint } });
    })
    .register(z.globalRegistry, SECRET_META);
}

/**
 * Whether a private key belongs to a certificate; a key that cannot be read here counts as right.
 */
export function isKeyOf(certificateFile: string, key: Secret): boolean {
  if (key instanceof AbsentSecret) return true;
  const certificate = new X509Certificate(readFileSync(certificateFile));
  return certificate.checkPrivateKey(createPrivateKey(key.reveal()));
}

const SIGNING_ISSUE = {
  error: 'does not hold a signing secret (whsec_… or whpk_…)',
  params: UNFIT_SECRET,
};
const ADDRESS_META = {
  expected: 'an address, or a reference to a secret that holds it',
  example: 'https://hooks.example.com/selvedge',
};

function addressField(name: string, context: SchemaContext): z.ZodType<string | Secret> {
  return textOrSecretField(name, ADDRESS_META, context)
    .superRefine((value, ctx) => {
      if (value instanceof AbsentSecret) return;
      const message = addressProblem(value instanceof Secret ? value.reveal() : value);
      if (message !== undefined) ctx.addIssue({ code: 'custom', message });
    })
    .register(z.globalRegistry, ADDRESS_META);
}

export function contextFields(context: SchemaContext): ContextFields {
  return {
    path: (example) => pathField(example, context),
    certificates: (example) =>
      pathField(example, context)
        .superRefine((path, ctx) => {
          const message = certificateProblem(path);
          if (message !== undefined) ctx.addIssue({ code: 'custom', message });
        })
        .register(z.globalRegistry, { expected: 'the path of a file', example }),
    secret: (name) =>
      secretField(name, context)
        .refine(isCopiedWell, COPIED_WRONG_ISSUE)
        .register(z.globalRegistry, SECRET_META),
    lateSecret: (name) =>
      secretField(name, { ...context, mayBeAbsent: () => true })
        .refine(isCopiedWell, COPIED_WRONG_ISSUE)
        .register(z.globalRegistry, SECRET_META),
    headerSecret: (name) =>
      secretField(name, context)
        .refine((secret) => secret instanceof AbsentSecret || HEADER_VALUE.test(secret.reveal()), {
          error: 'holds a line break or a letter that no HTTP header can carry',
          params: UNFIT_SECRET,
        })
        .register(z.globalRegistry, SECRET_META),
    textOrSecret: (name, expected, example) =>
      textOrSecretField(name, { expected, example }, context)
        .refine(isCopiedWell, COPIED_WRONG_ISSUE)
        .register(z.globalRegistry, { expected, example }),
    signingSecret: (name) =>
      secretField(name, context)
        .refine(isSigningSecret, SIGNING_ISSUE)
        .register(z.globalRegistry, SECRET_META),
    ownSigningSecret: (name) =>
      secretField(name, context)
        .refine((secret) => isSigningSecret(secret) && !isPublicKey(secret), {
          ...SIGNING_ISSUE,
          error: 'does not hold a signing secret (whsec_…)',
        })
        .register(z.globalRegistry, SECRET_META),
    address: (name) => addressField(name, context),
    token: (name) =>
      secretField(name, context)
        .refine((secret) => secret instanceof AbsentSecret || TOKEN.test(secret.reveal()), {
          error: 'does not hold a token of 16 to 256 characters (A-Z, a-z, 0-9, -, _)',
          params: UNFIT_SECRET,
        })
        .register(z.globalRegistry, SECRET_META),
    privateKey: (name) => privateKeyField(name, context),
  };
}
