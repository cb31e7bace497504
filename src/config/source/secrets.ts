/**
 * Reads secrets, which come from outside the configuration file: `{ file: … }`, `{ env: … }` or `{
 * credential: … }` (a file name in systemd's `$CREDENTIALS_DIRECTORY`). A value in place of a
 * reference is never repeated in a message, because it may be the secret itself.
 */
import { isUtf8 } from 'node:buffer';
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { errorCode } from '../../lib/errors.ts';
import { isJsonObject } from '../../lib/json.ts';

export type SecretReference =
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'env'; readonly env: string }
  | { readonly kind: 'credential'; readonly credential: string };

/** Maximum bytes of a secret file: more than any key or token has, so a larger file is another. */
const SECRET_BYTES_MAX = 65_536;
/** Permission bits that give the group or others any access. */
const SHARED_MODE = 0o077;

export type Read = { readonly value: string } | { readonly problem: string; readonly hint: string };

const REFERENCE = z.union([
  z.strictObject({ file: z.string().min(1) }).transform(({ file }) => ({
    kind: 'file' as const,
    file,
  })),
  z.strictObject({ env: z.string().regex(/^[A-Za-z_]\w*$/) }).transform(({ env }) => ({
    kind: 'env' as const,
    env,
  })),
  z
    .strictObject({ credential: z.string().regex(/^(?!\.\.?$)[^/\0]+$/) })
    .transform(({ credential }) => ({ kind: 'credential' as const, credential })),
]);

/** Parses a written reference to a secret; undefined when it is none (a literal, two at once). */
export function parseReference(written: unknown): SecretReference | undefined {
  if (!isJsonObject(written)) return undefined;
  const parsed = REFERENCE.safeParse(written);
  return parsed.success ? parsed.data : undefined;
}

/** Describes where a secret comes from: `file /etc/…`, `environment variable X`, `credential x`. */
export function describeReference(reference: SecretReference): string {
  if (reference.kind === 'file') return `file ${reference.file}`;
  if (reference.kind === 'env') return `environment variable ${reference.env}`;
  return `credential ${reference.credential}`;
}

function readSecretFile(path: string, mayBeShared: boolean): Read {
  let descriptor: number;
  try {
    // The open does not block, so that a named pipe in place of the file cannot hang the start.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (thrown) {
    const hint = 'create it, readable by the service user only (chmod 600)';
    return { problem: `cannot read the secret file ${path} (${errorCode(thrown)})`, hint };
  }
  try {
    const stat = fstatSync(descriptor);
    if (!stat.isFile()) {
      return {
        problem: `${path} is not a regular file`,
        hint: 'name a file that holds the secret',
      };
    }
    const isOurs = stat.uid === 0 || stat.uid === process.getuid?.();
    if (!mayBeShared && !isOurs) {
      const problem = `the secret file ${path} belongs to another user`;
      return { problem, hint: 'it must belong to the service user or to root' };
    }
    if (!mayBeShared && (stat.mode & SHARED_MODE) !== 0) {
      const problem = `the secret file ${path} is open to other users of this machine`;
      return { problem, hint: `chmod 600 ${path}` };
    }
    if (stat.size > SECRET_BYTES_MAX) {
      const problem = `the secret file ${path} is larger than ${SECRET_BYTES_MAX} bytes`;
      return { problem, hint: 'the file must hold the secret and nothing else' };
    }
    const bytes = readFileSync(descriptor);
    if (!isUtf8(bytes)) {
      const problem = `the secret file ${path} is not UTF-8 text`;
      return { problem, hint: 'save it in this encoding' };
    }
    const value = bytes.toString('utf8').replace(/^\ufeff|[\r\n]+$/g, '');
    if (value === '') return { problem: `the secret file ${path} is empty`, hint: 'fill it' };
    return { value };
  } finally {
    closeSync(descriptor);
  }
}

/** Reads the secret that a reference names; `resolvePath` makes a relative file name absolute. */
export function readSecret(
  reference: SecretReference,
  env: Readonly<Record<string, string | undefined>>,
  resolvePath: (written: string) => string,
): Read {
  if (reference.kind === 'file') return readSecretFile(resolvePath(reference.file), false);
  if (reference.kind === 'env') {
    const value = env[reference.env];
    if (value !== undefined && value !== '') return { value };
    const problem = `the environment variable ${reference.env} is not set`;
    return { problem, hint: 'set it for the service, or use { file: … }' };
  }
  const folder = env.CREDENTIALS_DIRECTORY;
  if (folder === undefined || folder === '') {
    const problem = `the credential ${reference.credential} is not available`;
    const how = `LoadCredential=${reference.credential}:/path in its unit`;
    const hint = `only the service has it (${how}); elsewhere name the file`;
    return { problem, hint };
  }
  // systemd grants access by ACL, which shows up as group permission: that is normal there.
  return readSecretFile(join(folder, reference.credential), true);
}
