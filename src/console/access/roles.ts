/** Roles at the console, and the acts that each may do; every role includes those before it. */
import { RefusedError } from '../../lib/errors.ts';
import { ROLES, type Role } from '../../surface/roles.ts';

/** Lowest role that each act needs; an act that is not listed is not offered at the console. */
const NEEDED = {
  'delivery.accept': 'operator',
  'delivery.hold': 'operator',
  'delivery.release': 'operator',
  'delivery.note': 'operator',
  'delivery.reject': 'approver',
} as const satisfies Readonly<Record<string, Role>>;

export type Act = keyof typeof NEEDED;

export function mayDo(role: Role, act: Act): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(NEEDED[act]);
}

export function requireRole(role: Role, act: Act): void {
  if (mayDo(role, act)) return;
  const message = `a ${role} may not do this (${act})`;
  throw new RefusedError('console.role', message, { hint: `ask an ${NEEDED[act]}` });
}
