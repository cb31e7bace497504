/**
 * Short lists of V1, each declared once: its address, its member of the answer, and its rows. The
 * head of `config/lists.ts` names all places of a new one.
 */
import { z } from 'zod';
import type { CallOptions } from '../calls.ts';
import { keyText } from '../key-text.ts';
import { alwaysDecides } from '../tolerant/decides.ts';
import { type Listing, list, pull, type V1Wire } from './calls.ts';

const lists = {
  brands: { path: '/brands', member: 'brands', schema: z.looseObject({ brandName: keyText }) },
  freight: {
    path: '/freight',
    member: 'freightOptions',
    schema: z.looseObject({ freightType: keyText }),
  },
  seasons: {
    path: '/seasons',
    member: 'seasons',
    schema: z.looseObject({
      seasonName: keyText,
      deliveryNames: alwaysDecides(z.array(z.string())),
    }),
  },
} as const;

export type ShortListName = keyof typeof lists;
type RowOf<N extends ShortListName> = z.infer<(typeof lists)[N]['schema']>;
export type Season = RowOf<'seasons'>;

interface ShortList<T> {
  readonly path: string;
  readonly member: string;
  readonly schema: z.ZodType<T>;
}

export const SHORT_LISTS: { readonly [N in ShortListName]: ShortList<RowOf<N>> } = lists;

export interface BrandedCall extends CallOptions {
  /** Name of the only brand to read; undefined: all brands, where the account allows that. */
  readonly brandName?: string | undefined;
}

/** Reads a short list as a whole. */
export type ReadShortList = <N extends ShortListName>(
  name: N,
  call?: BrandedCall,
) => Promise<Listing<RowOf<N>>>;

export function shortListReader(wire: V1Wire): ReadShortList {
  return (name, call) => {
    const { path, member, schema } = SHORT_LISTS[name];
    const request = pull(wire, path, call, { brandName: call?.brandName });
    return list(wire.catalog, request, member, schema);
  };
}
