/** Functions that had another file at a commit beside which these benchmarks measure. */
import { existsSync } from 'node:fs';

type SalesOrder = typeof import('../../src/mirror/sales-order.ts');
type Access = typeof import('../../src/inbox/access.ts');

function placeOf(before: string, now: string): string {
  const old = new URL(`../../src/${before}`, import.meta.url);
  return (existsSync(old) ? old : new URL(`../../src/${now}`, import.meta.url)).href;
}

export const { writeDeliveries }: Pick<SalesOrder, 'writeDeliveries'> = await import(
  placeOf('mirror/delivery.ts', 'mirror/sales-order.ts')
);
export const { createVerifier }: Pick<Access, 'createVerifier'> = await import(
  placeOf('inbox/signature.ts', 'inbox/access.ts')
);
