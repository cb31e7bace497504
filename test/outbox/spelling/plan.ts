/** Orders of a shop that writes its references in its own way, some of them twins. */
import type { Random } from '../../../src/lib/random.ts';
import type { World } from '../../../src/reference/world/world.ts';

export const WAYS = [
  ...(['cut20', 'upper', 'lower', 'spaces', 'noHash'] as const),
  ...(['prefix', 'suffix', 'empty', 'punctuation', 'digits'] as const),
] as const;

type Placed = Parameters<World['trade']['place']>[0];

/**
 * Ways that no spelling explains, or hardly. The order's number decides, so that a seed is always
 * the same.
 */
export const ODD_WAYS: Readonly<Record<string, (input: Placed, number: number) => Placed>> = {
  'its own number': (input, number) => ({ ...input, reference: `W${number}` }),
  'a number before it': (input, number) => ({
    ...input,
    reference: `${50_000 + number}/${input.reference}`,
  }),
  'the last 8': (input) => ({ ...input, reference: input.reference.slice(-8) }),
  'none for some': (input, number) => ({
    ...input,
    reference: number % 2 === 0 ? input.reference : '',
  }),
  'a cut for some': (input, number) => ({
    ...input,
    reference: number % 3 === 0 ? input.reference : input.reference.slice(0, 12),
  }),
  'one way after another': (input, number) => ({
    ...input,
    reference: number % 50 < 25 ? input.reference.toUpperCase() : `B2B ${input.reference}`,
  }),
  'none, and net prices': (input) => ({
    ...input,
    reference: '',
    lines: input.lines.map((line) => ({ ...line, price: Math.round(line.price * 0.8) })),
  }),
  'a cut, and no more than 3 pieces': (input) => ({
    ...input,
    reference: input.reference.slice(0, 9),
    lines: input.lines.map((line) => ({ ...line, quantity: Math.min(3, line.quantity) })),
  }),
};

export interface Planned {
  readonly reference: string;
  readonly lines: readonly {
    readonly barcode: string;
    readonly quantity: number;
    readonly price: string;
  }[];
}

/** Forms of references; all but parts of one order differ in the first 20 characters. */
const FORMS: readonly ((id: string) => string)[] = [
  (id) => `#${id}-Nord / 2026 web`,
  (id) => `Süd  ${id}.26`,
  (id) => `${id}#Filiale  Öst, Nachbestellung`,
  (id) => `PO-${id}/a`,
];

/** The first ones are of each form. */
export const FIRST = FORMS.length;

function referenceOf(random: Random, number: number): string {
  const form = FORMS[number] ?? random.pick(FORMS);
  return form(String(10_000 + number));
}

function linesOf(random: Random, barcodes: readonly string[], number: number): Planned['lines'] {
  const price = (12 + (number % 40) / 4).toFixed(2);
  const line = () => ({ barcode: random.pick(barcodes), quantity: random.int(1, 6), price });
  return Array.from({ length: random.int(1, 3) }, line);
}

/** A tenth are twins: the same lines within the minute. Some of these are parts of one order. */
export function planOrders(
  random: Random,
  barcodes: readonly string[],
  count: number,
): readonly Planned[] {
  const planned: Planned[] = [];
  while (planned.length < count) {
    const number = planned.length;
    const reference = referenceOf(random, number);
    const lines = linesOf(random, barcodes, number);
    if (number < FIRST || !random.chance(0.05) || number + 1 >= count) {
      planned.push({ reference, lines });
      continue;
    }
    const isPart = random.chance(0.5);
    const other = isPart ? `${reference}, Teil 2` : referenceOf(random, number + 1);
    planned.push({ reference, lines }, { reference: other, lines });
  }
  return planned;
}
