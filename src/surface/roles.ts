/** Roles of people and programs; every role may do what those before it may. */
import { RefusedError } from '../lib/errors.ts';
import type { ConsoleRole } from '../store/tables.ts';

export const ROLES = ['viewer', 'operator', 'approver'] as const satisfies readonly ConsoleRole[];
export type Role = (typeof ROLES)[number];

export function mayDo(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

export function requireRole(role: Role, act: string, needed: Role): void {
  if (mayDo(role, needed)) return;
  const message = `a ${role} may not do this (${act})`;
  throw new RefusedError('console.role', message, { hint: `ask an ${needed}` });
}
