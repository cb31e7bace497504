/** Orders of a shop that writes its references in its own way, some of them twins. */
import type { Random } from '../../../src/lib/chance.ts';

export const WAYS = [
  ...(['cut20', 'upper', 'lower', 'spaces', 'noHash'] as const),
  ...(['prefix', 'suffix', 'empty', 'punctuation', 'digits'] as const),
] as const;

export interface Planned {
  readonly reference: string;
  readonly lines: readonly {
    readonly barcode: string;
    readonly quantity: number;
    readonly price: string;
  }[];
}

/** What tells them apart stands among the first 20 characters, but for parts of one order. */
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
