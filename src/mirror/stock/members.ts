/** Members that several lists of stock have. */
import { z } from 'zod';
import { as, type Member } from '../../surface/members.ts';

type More = Omit<Member, 'title' | 'kind'>;

/** A text as the service has it, of any length. */
export function mirrored(title: string, more: More = {}) {
  return as(z.string(), title, 'text', more);
}

/** A number of pieces or variants, which may be below 0. */
export function pieces(title: string, more: More = {}) {
  return as(z.int(), title, 'whole', more);
}

/** Style or barcode for which a list is asked. */
export const named = as(z.string().min(1).max(200), 'Barcode or style', 'text', {
  about: 'A barcode, or the number of a style',
});
