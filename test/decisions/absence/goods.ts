/**
 * The whole: goods of the stock and of a season, styles with their colors and brands, and
 * customers. Every seventh or so has something against it that one input alone tells.
 */
import type { Row } from '../../sync/list-server.ts';

export const BARCODES = 240;
const STYLES = 240;
const COLORS = 120;
export const CUSTOMERS = 60;
export const SEASON = 'SS27';
/** Price of each line of an order; a list price far from it stops a delivery. */
const PRICE = 100;
const OTHER_PRICE = 300;

const isBlocked = (nth: number): boolean => nth % 4 === 0;
const isOverdue = (nth: number): boolean => nth % 7 === 1;
const isOverdrawn = (nth: number): boolean => nth % 6 === 3;
const isActive = (nth: number): boolean => nth % 9 !== 0;
const isColorActive = (nth: number): boolean => nth % 11 !== 5;
const isPriced = (nth: number): boolean => nth % 10 !== 7;
const isPricedAhead = (nth: number): boolean => nth % 10 !== 2;
const piecesOf = (nth: number): number => (nth % 8 === 0 ? 1 : 50);
export const barcodeOf = (nth: number): string => `b${String(nth).padStart(4, '0')}`;
export const accountOf = (nth: number): string => `C-${nth}`;

function goodsWith(isRight: (nth: number) => boolean): readonly Row[] {
  return Array.from({ length: BARCODES }, (_none, nth) => ({
    barcode: barcodeOf(nth),
    quantity: piecesOf(nth),
    seasonName: SEASON,
    colorCode: `c${nth % COLORS}`,
    details: {
      ...{ styleNo: `S${nth % STYLES}`, brandName: 'Fjord', styleName: 'Coat', size: 'M' },
      currency: 'DKK',
      wspPrice: isRight(nth) ? PRICE : OTHER_PRICE,
    },
  }));
}

export const GOODS = goodsWith(isPriced);
export const GOODS_AHEAD = goodsWith(isPricedAhead);

export interface Resource {
  readonly type: string;
  readonly id: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly relationships: Readonly<Record<string, unknown>>;
}

function resources(
  type: string,
  count: number,
  members: (nth: number) => Pick<Resource, 'attributes' | 'relationships'>,
): readonly Resource[] {
  return Array.from({ length: count }, (_none, nth) => ({
    type,
    id: String(nth + 1),
    ...members(nth),
  }));
}

const idOf = (type: string, nth: number) => ({ type, id: String(nth + 1) });

/** V2's collections by the name of their stream. */
export const CATALOG: Readonly<Record<string, readonly Resource[]>> = {
  styles: resources('style', STYLES, (nth) => ({
    attributes: { styleNo: `S${nth}`, styleName: 'Coat', active: isActive(nth) },
    relationships: {
      brand: { data: idOf('brand', 0) },
      // Its own, and one that no line is of.
      styleColors: { data: [idOf('styleColor', nth), idOf('styleColor', STYLES)] },
    },
  })),
  styleColors: resources('styleColor', STYLES + 1, (nth) => ({
    attributes: { active: isColorActive(nth), noosType: 'none' },
    relationships: { color: { data: idOf('color', nth % COLORS) } },
  })),
  colors: resources('color', COLORS, (nth) => ({
    attributes: { code: `c${nth}`, name: `Color ${nth}`, active: true },
    relationships: {},
  })),
  pdmBrands: resources('brand', 2, (nth) => ({
    attributes: { name: nth === 0 ? 'Fjord' : 'Havn' },
    relationships: {},
  })),
};

interface CustomerRow {
  readonly blocked: number | null;
  readonly overdueDays: number | null;
  readonly limit: number | null;
  readonly balance: number | null;
}

export function customerOf(nth: number): CustomerRow {
  return {
    blocked: Number(isBlocked(nth)),
    overdueDays: isOverdue(nth) ? 60 : 0,
    limit: isOverdrawn(nth) ? 10_000 : 100_000_000,
    balance: 20_000,
  };
}

export interface Sale {
  readonly account: number;
  readonly isAhead: boolean;
  /** Goods by number, with their pieces. */
  readonly lines: readonly (readonly [number, number])[];
}

/** Objections of the whole input to a sale. */
export function saidAgainst({ account, isAhead, lines }: Sale): readonly string[] {
  const ofLines = lines.flatMap(([nth, pieces]) => {
    const style = nth % STYLES;
    const isRight = isAhead ? isPricedAhead(nth) : isPriced(nth);
    return [
      ...(isActive(style) ? [] : [`style S${style} is not active`]),
      ...(isColorActive(style) ? [] : [`the color of S${style} is not active`]),
      ...(isRight ? [] : [`the price of ${nth}${isAhead ? ' ahead' : ''}`]),
      ...(piecesOf(nth) >= pieces ? [] : [`pieces of ${nth}`]),
    ];
  });
  return [
    ...ofLines,
    ...(isBlocked(account) ? ['blocked'] : []),
    ...(isOverdue(account) ? ['overdue'] : []),
    ...(isOverdrawn(account) ? ['overdrawn'] : []),
  ];
}
