/**
 * Settings of the plane: a PostgreSQL database with a copy of this mirror beside those of others.
 */
import { z } from 'zod';
import { AbsentSecret } from '../../lib/secret.ts';
import { decodedPart } from '../../lib/strings.ts';
import type { ContextFields } from './context.ts';
import { choice, duration, isLoopbackName, text } from './fields.ts';

/** Parts that the copy may have; the last two hold data that is left out by default. */
const PLANE_CONTENT = ['mirror', 'changes', 'ledgers', 'bodies', 'addresses'] as const;

/** Accounts and schemas are names in SQL, at most as long as PostgreSQL keeps a name. */
const ACCOUNT = /^[a-z0-9][a-z0-9-]{0,31}$/;
const SCHEMA = /^(?!pg_)[a-z_][a-z0-9_]{0,62}$/;

const URL_META = {
  expected: 'a reference to a secret that holds the address of a PostgreSQL database',
  example: '{ file: /etc/selvedge/secrets/plane-url }',
  secret: true,
};

/** Several hosts, as libpq takes them: `a,b`, each with a port or without. */
const SEVERAL_HOSTS = /^[a-z]+:\/\/(?:[^@/?]*@)?[^/?@]*,|[?&](?:host|port)=[^&]*(?:,|%2c)/i;

/**
 * Describes the mistake in a PostgreSQL address, without the address; undefined: none. `several` is
 * what to do about one with several hosts.
 */
function addressProblem(written: string, several: string): string | undefined {
  if (SEVERAL_HOSTS.test(written)) return `names several hosts: ${several}`;
  const url = URL.parse(written);
  if (url === null || !/^postgres(?:ql)?:$/.test(url.protocol) || /\s/.test(written)) {
    return 'does not hold an address of PostgreSQL (postgresql://user:password@host/database)';
  }
  if (url.pathname.length < 2)
    return 'names no database (postgresql://user:password@host/database)';
  const isReadable = [url.username, url.password, url.hostname, url.pathname].every(
    (part) => decodedPart(part) !== undefined,
  );
  return isReadable ? undefined : 'has a % that stands for nothing';
}

/** Host of a PostgreSQL address; a path is a socket on this machine. */
function hostOf(url: URL): string {
  return url.searchParams.get('host') ?? decodedPart(url.hostname) ?? url.hostname;
}

/**
 * Whether data sent to a PostgreSQL address could be read on the way, or be received by a false
 * server.
 */
export function isUnprotected(address: string): boolean {
  const url = URL.parse(address);
  if (url === null) return false;
  const host = hostOf(url);
  if (host === '' || host.startsWith('/') || isLoopbackName(host)) return false;
  return url.searchParams.get('sslmode') !== 'verify-full';
}

/** Field for a secret that holds the address of a PostgreSQL database. */
export function postgresAddress(fields: ContextFields, name: string, several: string) {
  return fields
    .lateSecret(name)
    .superRefine((secret, ctx) => {
      const message =
        secret instanceof AbsentSecret ? undefined : addressProblem(secret.reveal(), several);
      const hint =
        'what it names must hold it alone, no quotes, no second line; in a password write ' +
        'special characters as in every address: %23 for #, %25 for %, %2F for /, %40 for @';
      if (message !== undefined) ctx.addIssue({ code: 'custom', message, params: { hint } });
    })
    .register(z.globalRegistry, { ...URL_META });
}

/** Field for a schema's name. */
export function schemaName(example: string) {
  return text('a name in PostgreSQL (a-z, 0-9, _; not pg_…)', example, SCHEMA);
}

const ONE_HOST =
  'give it one, the primary or an address that follows it (a pooler, a virtual address)';

export function planeSection(fields: ContextFields) {
  return z.strictObject({
    url: postgresAddress(fields, 'plane.url', ONE_HOST).nullable(),
    account: text('a short name (a-z, 0-9, -)', 'acme', ACCOUNT).nullable(),
    schema: schemaName('selvedge'),
    content: z
      .array(choice(...PLANE_CONTENT))
      .min(1)
      .refine((list) => new Set(list).size === list.length, { error: 'has the same word twice' })
      .refine((list) => list.includes('mirror'), {
        error: 'lacks mirror, which all the others refer to',
      })
      .register(z.globalRegistry, {
        expected: `a list of what is copied: ${PLANE_CONTENT.join(', ')}`,
        example: '[mirror, changes, ledgers]',
      }),
    every: duration('100ms', '1m'),
    lagWarning: duration('5s', '7d'),
  });
}
