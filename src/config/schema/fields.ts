/**
 * Kinds of value that a setting can have. Each has a text of what a person should write
 * (`expected`) and one right value (`example`); the messages about a wrong value are made from
 * these, so that they are the same everywhere. No field has a default: `config/selvedge.yaml` holds
 * all of them. Descriptions of fields are registered, because `meta()` would copy each schema, and
 * half of a load is making schemas.
 */
import { validate as validCron } from 'node-cron';
import { z } from 'zod';
import { formatDuration, parseDuration, parseSize } from '../../lib/units.ts';

export interface FieldMeta {
  /** Description of a right value, which completes "must be …". */
  readonly expected: string;
  readonly example: string;
  /** Whether the value is a credential: never shown, and given by reference only. */
  readonly secret?: boolean | undefined;
}

/** Message of an issue that is shown as "must be …", with the field's own {@link FieldMeta}. */
export const WRONG_KIND = 'wrong kind';

/** Reports one problem of a field from inside a transform. */
function refuse(ctx: z.RefinementCtx, message: string): never {
  ctx.addIssue({ code: 'custom', message });
  return z.NEVER;
}

export function text(expected: string, example: string, pattern = /\S/) {
  return z.string().regex(pattern).register(z.globalRegistry, { expected, example });
}

export function flag() {
  return z.boolean().register(z.globalRegistry, { expected: 'true or false', example: 'true' });
}

export function choice<const T extends readonly string[]>(...names: T) {
  return z.enum(names).register(z.globalRegistry, {
    expected: `one of ${names.join(', ')}`,
    example: names[0] ?? '',
  });
}

export function whole(min: number, max: number) {
  return z
    .int()
    .min(min)
    .max(max)
    .register(z.globalRegistry, {
      expected: `a whole number from ${min} to ${max}`,
      example: String(min),
    });
}

export function decimal(min: number, max: number, example: string) {
  return z
    .number()
    .min(min)
    .max(max)
    .register(z.globalRegistry, { expected: `a number from ${min} to ${max}`, example });
}

/** Field for a duration such as `15m`; the value is milliseconds. */
export function duration(min: string, max: string) {
  const limits = { min: parseDuration(min) ?? 0, max: parseDuration(max) ?? 0 };
  const range = `${formatDuration(limits.min)} to ${formatDuration(limits.max)}`;
  return z
    .string()
    .transform((written, ctx): number => {
      const ms = parseDuration(written);
      if (ms === undefined) return refuse(ctx, WRONG_KIND);
      if (ms < limits.min || ms > limits.max) return refuse(ctx, `must be within ${range}`);
      return ms;
    })
    .register(z.globalRegistry, {
      expected: 'a duration with its unit (ms, s, m, h, d)',
      example: max,
    });
}

/** Field for a size such as `256KiB`; the value is bytes. */
export function size(min: string, max: string) {
  const limits = { min: parseSize(min) ?? 0, max: parseSize(max) ?? 0 };
  return z
    .string()
    .transform((written, ctx): number => {
      const bytes = parseSize(written);
      if (bytes === undefined) return refuse(ctx, WRONG_KIND);
      if (bytes < limits.min || bytes > limits.max) {
        return refuse(ctx, `must be within ${min} to ${max}`);
      }
      return bytes;
    })
    .register(z.globalRegistry, {
      expected: 'a size with its unit (B, KiB, MiB, GiB, kB, MB, GB)',
      example: max,
    });
}

/** Numbers of values of a cron text's fields, the seconds first, which may be left out. */
const CRON_WIDTHS = [60, 60, 24, 31, 12, 7] as const;

/** Whether a step reaches beyond its range, as 90 minutes do: it would run once an hour. */
function hasVainStep(written: string): boolean {
  const fields = written.split(' ');
  const widths = CRON_WIDTHS.slice(-fields.length);
  return fields.some((field, index) =>
    [...field.matchAll(/(?:(\d+)-(\d+)|[^,]+)\/(\d+)/g)].some(([, from, to, step]) => {
      const whole = widths[index] ?? 0;
      const width = from === undefined ? whole : (Number(to) - Number(from) + whole) % whole;
      return Number(step) > (from === undefined ? whole : width + 1);
    }),
  );
}

/** Field for a cron schedule of five or six fields, in UTC. */
export function cron() {
  return z
    .string()
    .refine((written) => /^\S+( \S+){4,5}$/.test(written) && validCron(written), {
      error: WRONG_KIND,
    })
    .refine((written) => !validCron(written) || !hasVainStep(written), {
      error: 'steps further than its field goes, so that it would run at the first value alone',
    })
    .register(z.globalRegistry, {
      expected: 'a cron text in UTC, in quotes',
      example: '"*/15 * * * *"',
    });
}

/** Field for the name of an HTTP header. */
export function headerName() {
  return text("an HTTP header's name", 'X-Service-Authorization', /^[A-Za-z0-9-]{1,64}$/);
}

/** Field for a JSON pointer to a text in an answer. */
export function pointer() {
  return text('a JSON pointer', '/data/token', /^(\/[^/~]+)+$/);
}

export function isLoopbackName(host: string): boolean {
  return host === 'localhost' || isLoopbackAddress(host.replace(/^\[|\]$/g, ''));
}

/** Whether an address can be reached from this machine only. */
export function isLoopbackAddress(address: string): boolean {
  return address === '::1' || /^(::ffff:)?127\.\d+\.\d+\.\d+$/i.test(address);
}

/**
 * Field for the root of an API: https, unless it is on this machine; without user, query or
 * fragment.
 */
export function baseUrl() {
  return z
    .string()
    .transform((written, ctx): string => {
      const url = URL.parse(written);
      const isAddress = url !== null && /^https?:$/.test(url.protocol) && !/\s/.test(written);
      if (!isAddress) return refuse(ctx, WRONG_KIND);
      if (url.username !== '' || url.password !== '') {
        return refuse(ctx, 'must not hold a user or a password; use the login settings');
      }
      if (url.search !== '' || url.hash !== '') return refuse(ctx, 'must end with the path');
      if (url.protocol === 'http:' && !isLoopbackName(url.hostname)) {
        return refuse(ctx, 'must begin with https:// (http:// is for this machine only)');
      }
      return written.replace(/\/+$/, '');
    })
    .register(z.globalRegistry, {
      expected: 'the address of an API',
      example: 'https://key.example.com/api/v1',
    });
}

/**
 * Describes the mistake in an address to call, without the address, which may be secret; undefined:
 * none.
 */
export function addressProblem(written: string): string | undefined {
  const url = URL.parse(written);
  if (url === null || !/^https?:$/.test(url.protocol) || /\s/.test(written)) return WRONG_KIND;
  if (url.username !== '' || url.password !== '') return 'must not hold a user or a password';
  if (url.protocol === 'https:' || isLoopbackName(url.hostname)) return undefined;
  return 'must begin with https:// (http:// is for this machine only)';
}

/** Field for a host name without port. */
export function hostName() {
  return text("a host's name, without port", 'metrics.example.com', /^(?!-)[A-Za-z0-9.-]{1,253}$/);
}

/**
 * Field for the address of a proxy: nothing after the port; user and password are settings of their
 * own.
 */
export function proxyUrl() {
  return z
    .string()
    .transform((written, ctx): string => {
      const url = URL.parse(written);
      if (url === null || !/^https?:$/.test(url.protocol)) return refuse(ctx, WRONG_KIND);
      if (url.username !== '' || url.password !== '') {
        return refuse(ctx, 'must not hold a user or a password; use user and password below it');
      }
      return url.href === `${url.origin}/` ? url.origin : refuse(ctx, 'must end with the port');
    })
    .register(z.globalRegistry, {
      expected: 'the address of a proxy',
      example: 'http://proxy.example.com:3128',
    });
}

/** Checks that `delayMin` is not longer than `delayMax` in a section that has both. */
export function delaysInOrder(
  delays: { readonly delayMin: number; readonly delayMax: number },
  ctx: z.RefinementCtx,
): void {
  if (delays.delayMin <= delays.delayMax) return;
  const message = 'must not be longer than delayMax';
  ctx.addIssue({ code: 'custom', path: ['delayMin'], message });
}

/**
 * Runs the check of a whole section as soon as the members that it compares are valid, so that a
 * mistake elsewhere in the section does not hide it.
 */
export function onceSound(...names: readonly string[]) {
  return {
    when: ({ issues }: z.core.ParsePayload) =>
      !issues.some(({ path }) => path?.[0] === undefined || names.includes(String(path[0]))),
  };
}
