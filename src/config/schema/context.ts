/** The fields whose values come from outside the file: paths, files and secrets. */
import { accessSync, constants } from 'node:fs';
import { z } from 'zod';
import { Secret } from '../../lib/secret.ts';
import { parseReference, type Read, type SecretReference } from '../source/secrets.ts';
import { text, WRONG_KIND } from './fields.ts';

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
  /** An existing file that can be read. */
  file(example: string): z.ZodType<string, string>;
  secret(name: string): z.ZodType<Secret>;
  /** A secret that messages are signed with. */
  signingSecret(name: string): z.ZodType<Secret>;
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

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** Short keys can be guessed; the standard asks for 24 bytes, some senders make them shorter. */
const SIGNING_KEY_BYTES_MIN = 16;

/** `whsec_` and at least 16 bytes in base64, as relays hand them out. */
function isSigningSecret(secret: Secret): boolean {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret.reveal())?.[1];
  if (encoded === undefined) return false;
  return Buffer.from(encoded, 'base64').length >= SIGNING_KEY_BYTES_MIN;
}

export function contextFields(context: SchemaContext): ContextFields {
  return {
    path: (example) => pathField(example, context),
    file: (example) =>
      pathField(example, context)
        .refine(isReadable, { error: 'names a file that cannot be read' })
        .meta({ expected: 'the path of a file', example }),
    secret: (name) => secretField(name, context),
    signingSecret: (name) =>
      secretField(name, context)
        .refine(isSigningSecret, { error: 'does not hold a signing secret (whsec_ and base64)' })
        .meta(SECRET_META),
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
