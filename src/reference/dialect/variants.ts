/** Rewrites a row of a variant list as an account of this level and dialect has it. */
import { isJsonObject } from '../../lib/json.ts';
import type { Dialect } from '../control/dialect-knobs.ts';
import { hasDetails, hasMember } from './levels.ts';

export interface Account {
  readonly level: string;
  readonly dialect: Dialect;
}

type Members = Record<string, unknown>;

const PRICES = new Set(['price', 'wspPrice', 'b2cSalePrice', 'priceOriginal']);

function priced(name: string, value: unknown, { prices, quantities }: Dialect): unknown {
  if (name === 'quantity' && quantities === 'zero') return 0;
  if (!PRICES.has(name) || typeof value !== 'number' || prices === 'real') return value;
  return prices === 'null' ? null : value * 100;
}

/** The variant's members that the level has, with the quantities and prices of the dialect. */
function kept(members: Members, { level, dialect }: Account): Members {
  const out: Members = {};
  for (const [name, value] of Object.entries(members)) {
    if (hasMember(level, 'variant', name)) out[name] = priced(name, value, dialect);
    if (name === 'barcode' && dialect.barcodes === 'lostZeros') out[name] = `0${value}`;
  }
  return out;
}

function renamed(members: Members, { detailNames }: Dialect): Members {
  return Object.fromEntries(
    Object.entries(members).map(([name, value]) => [detailNames[name] ?? name, value]),
  );
}

export function variantRow(row: Members, account: Account): Members {
  const { details, ...own } = row;
  const out = kept(own, account);
  if (!isJsonObject(details) || account.dialect.detailsGone) return out;
  const inner = renamed(kept(details, account), account.dialect);
  const isFlat = account.dialect.detailsFlat || !hasDetails(account.level);
  return isFlat ? { ...inner, ...out } : { ...out, details: inner };
}
