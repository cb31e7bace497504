/** Settings of the ERP's intake channels, and of the delivery of receipts. */
import { z } from 'zod';
import { AbsentSecret, type Secret } from '../../lib/secret.ts';
import type { ContextFields } from './context.ts';
import { duration, text } from './fields.ts';

const CLIENTS_MAX = 16;
const ARGUMENTS_MAX = 32;
const PRICE_FACTOR_MAX = 1_000_000;

/**
 * Whether each client has a token that no other client has, because the token tells clients apart.
 */
function haveOwnTokens(clients: readonly { readonly token: Secret }[]): boolean {
  const known = clients.filter(({ token }) => !(token instanceof AbsentSecret));
  return new Set(known.map(({ token }) => token.reveal())).size === known.length;
}

export function intakeSection(fields: ContextFields) {
  const client = z.strictObject({
    name: text('a short name (a-z, 0-9, -)', 'erp', /^[a-z0-9][a-z0-9-]{0,31}$/),
    token: fields.token('intake.clients'),
  });
  return z.strictObject({
    database: fields.path('/srv/selvedge/exchange.db').nullable(),
    folder: z.strictObject({
      path: fields.path('/srv/selvedge/in').nullable(),
      settle: duration('0s', '10m'),
    }),
    clients: z
      .array(client)
      .max(CLIENTS_MAX)
      .refine((list) => new Set(list.map(({ name }) => name)).size === list.length, {
        error: 'has the same name twice',
      })
      .refine(haveOwnTokens, { error: 'has the same token twice' })
      .register(z.globalRegistry, {
        expected: `a list of up to ${CLIENTS_MAX} clients`,
        example: '[{ name: erp, token: { file: … } }]',
        secret: true,
      }),
    priceFactor: z
      .number()
      .gt(1)
      .max(PRICE_FACTOR_MAX)
      .register(z.globalRegistry, { expected: 'a number above 1', example: '10' })
      .nullable(),
    callback: z.strictObject({
      command: z.array(z.string().min(1)).max(ARGUMENTS_MAX).register(z.globalRegistry, {
        expected: 'a program and its arguments, as a list',
        example: '[/usr/local/bin/receipt]',
      }),
    }),
  });
}
