/**
 * Whether goods would go elsewhere than they were sent to. Services write an address anew ("Str.",
 * capitals, no accents, a cut); only what names another place or account counts.
 */
import type { NewOrder } from '../../client/v1/order-body.ts';
import { countryOf } from '../../lib/strings.ts';

type SentAddress = NonNullable<NewOrder['shippingAddress']>;
export type ShownAddress = Readonly<Record<string, unknown>>;

/** Half of the pairs of letters: "Hauptstrasse" and "Hauptstr." are one street. */
const ALIKE_MIN = 0.5;

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
}

function plain(text: string): string {
  const letters = text.normalize('NFKD').toLowerCase().replaceAll('ß', 'ss');
  return letters.replace(/[^\p{L}\p{N}]/gu, '');
}

function pairsOf(text: string): Map<string, number> {
  const pairs = new Map<string, number>();
  for (let at = 0; at + 1 < text.length; at += 1) {
    const pair = text.slice(at, at + 2);
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  return pairs;
}

/** The share of pairs of letters that two texts have in common, of the shorter one. */
function likeness(one: string, other: string): number {
  const [own, theirs] = [pairsOf(one), pairsOf(other)];
  let common = 0;
  for (const [pair, count] of own) common += Math.min(count, theirs.get(pair) ?? 0);
  return common / Math.max(1, Math.min(one.length, other.length) - 1);
}

/** An empty one names no place; one may be cut. */
function isSamePlace(sent: string, shown: string): boolean {
  const [own, theirs] = [plain(sent), plain(shown)];
  if (own === '' || theirs === '' || own.startsWith(theirs) || theirs.startsWith(own)) return true;
  return likeness(own, theirs) >= ALIKE_MIN;
}

function numbersOf(text: string): string[] {
  return text.match(/\d+/g) ?? [];
}

/** House numbers may have moved into the second line, but not changed. */
function isSameStreet(sent: SentAddress, shown: ShownAddress): boolean {
  if (!isSamePlace(sent.address, textOf(shown.address))) return false;
  const theirs = new Set(numbersOf(`${textOf(shown.address)} ${textOf(shown.address2)}`));
  return theirs.size === 0 || numbersOf(sent.address).every((number) => theirs.has(number));
}

/** What of the shown address is another place, one text each; what is not shown is not compared. */
export function addressDifferences(
  sent: NewOrder['shippingAddress'],
  shown: ShownAddress | null | undefined,
): string[] {
  if (!sent || !shown) return [];
  const differences: string[] = [];
  const compare = (name: keyof SentAddress, isSame: (own: string, other: string) => boolean) => {
    const [own, other] = [textOf(sent[name]), textOf(shown[name])];
    if (own === '' || other === '' || isSame(own, other)) return;
    differences.push(`address: ${name} sent ${own}, shown ${other}`);
  };
  const isEqual = (own: string, other: string): boolean => plain(own) === plain(other);
  compare('countryCode', (own, other) => countryOf(own) === countryOf(other));
  compare('zip', isEqual);
  compare('city', isSamePlace);
  compare('address', () => isSameStreet(sent, shown));
  compare('accountNo', isEqual);
  return differences;
}
