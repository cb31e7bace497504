/**
 * Settings of the standby: a second machine that takes over by a lease and permits in PostgreSQL.
 */
import { z } from 'zod';
import { AbsentSecret, type Secret } from '../../lib/secret.ts';
import { formatDuration } from '../../lib/units.ts';
import type { ContextFields } from './context.ts';
import { choice, duration, flag } from './fields.ts';
import { isUnprotected, postgresAddress, schemaName } from './plane.ts';

const ONE_EACH = 'give each an entry of its own in standby.servers';

export function standbySection(fields: ContextFields) {
  return z.strictObject({
    servers: z.array(postgresAddress(fields, 'standby.servers', ONE_EACH)).max(8),
    schema: schemaName('selvedge_standby'),
    acknowledge: choice('postgresql', 'local'),
    lease: duration('2s', '5m'),
    unprotected: flag(),
  });
}

/**
 * Least time for which an effect of another machine may come late: nothing holds back a request
 * that stands in the kernel of a machine that is cut off.
 */
const QUIET_MS_MIN = 20 * 60_000;

interface Checked {
  readonly standby: { readonly servers: readonly Secret[]; readonly unprotected: boolean };
  readonly outbox: { readonly quietTime: number };
}

/** Checks what a standby asks of other settings, and that nobody reads or answers in its place. */
export function standbySound({ standby, outbox }: Checked, ctx: z.RefinementCtx): void {
  const { servers, unprotected } = standby;
  if (servers.length === 0) return;
  if (outbox.quietTime < QUIET_MS_MIN) {
    const message = `must be at least ${formatDuration(QUIET_MS_MIN)} with standby.servers`;
    const hint = 'what the other machine sent may still arrive so long after a take-over';
    ctx.addIssue({ code: 'custom', path: ['outbox', 'quietTime'], message, params: { hint } });
  }
  for (const [index, server] of servers.entries()) {
    if (unprotected || server instanceof AbsentSecret || !isUnprotected(server.reveal())) continue;
    const message =
      'goes to another host without sslmode=verify-full: others may read or answer it';
    const hint = 'add ?sslmode=verify-full to it; standby.unprotected: true takes it all the same';
    const path = ['standby', 'servers', index];
    ctx.addIssue({ code: 'custom', path, message, params: { hint } });
  }
}
