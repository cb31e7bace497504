/**
 * Short lists of V1, each declared once: its address, its member of the answer, and its rows. The
 * head of `config/lists.ts` names all places of a new one.
 */
import { z } from 'zod';
import { keyText } from '../key-text.ts';
import { alwaysDecides } from '../tolerant/decides.ts';

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
export type ShortListRow<N extends ShortListName> = z.infer<(typeof lists)[N]['schema']>;
export type Season = ShortListRow<'seasons'>;

interface ShortList<T> {
  readonly path: string;
  readonly member: string;
  readonly schema: z.ZodType<T>;
}

export const SHORT_LISTS: { readonly [N in ShortListName]: ShortList<ShortListRow<N>> } = lists;
