/** Differences between an order that came back and what was sent, and their consequences. */
import { describe, expect, it } from 'vitest';
import type { NewOrder } from '../../../src/client/v1/order-body.ts';
import {
  compareOrder,
  comparePendingRefund,
  describeOrder,
  piecesOf,
  relate,
  type ShownOrder,
} from '../../../src/outbox/evidence/compare.ts';
import { unseenSeason } from '../../../src/outbox/evidence/seasons.ts';

const ADDRESS = {
  ...{ firstName: 'Ann', lastName: 'Lee', phone: '1', email: 'a@b.example' },
  ...{ address: 'Hauptstraße 5', city: 'Köln', zip: '50 667', countryCode: 'DE' },
};

function line(barcode: string, quantity: number, price = 12.5) {
  return { barcode, quantity, price };
}

const PLAIN: NewOrder = {
  reference: 'A-1',
  lines: [
    { barcode: 'b-1', quantity: 1, priceUnits: 12_5000 },
    { barcode: 'b-1', quantity: 2, priceUnits: 12_5000 },
    { barcode: 'b-2', quantity: 3, priceUnits: 9_0000 },
  ],
  shippingAddress: ADDRESS,
  freight: { freightAmountUnits: 5_0000 },
};

const AHEAD: NewOrder = {
  reference: 'A-2',
  seasonName: 'AW27',
  lines: [{ barcode: 'b-1', quantity: 2, priceUnits: 12_5000, deliveryName: 'Drop 1' }],
};

function told(sent: NewOrder, shown: ShownOrder, seasons: 'yes' | 'never' | 'unknown' = 'unknown') {
  return describeOrder(compareOrder(sent, shown), sent, seasons);
}

const AS_SENT = { differences: [], holds: false };

describe('lines', () => {
  it.each<[string, ShownOrder['orderLineItems']]>([
    ['joined', [line('b-1', 3), line('b-2', 3, 9)]],
    ['split', [line('b-1', 1), line('b-1', 1), line('b-1', 1), line('b-2', 3, 9)]],
    ['sorted otherwise', [line('b-2', 3, 9), line('b-1', 2), line('b-1', 1)]],
    ['in other letters', [line('B-1 ', 3), line('B-2', 3, 9)]],
    ['without prices', [{ barcode: 'b-1', quantity: 3 }, line('b-2', 3, 9)]],
  ])('that are %s are the same', (_, orderLineItems) => {
    expect(told(PLAIN, { orderLineItems })).toEqual(AS_SENT);
  });

  it.each<[string, ShownOrder['orderLineItems'], string[], boolean]>([
    [
      'of more pieces',
      [line('b-1', 4), line('b-2', 3, 9)],
      ['pieces: sent 3, shown 4 × b-1 at 12.50'],
      true,
    ],
    ['that are missing', [line('b-1', 3)], ['not at the service: 3 × b-2 at 9.00'], true],
    [
      'of another article',
      [line('b-1', 3), line('b-2', 3, 9), line('b-3', 1)],
      ['only at the service: 1 × b-3 at 12.50'],
      true,
    ],
    [
      'of which one cannot be read',
      [line('b-1', 3), line('b-2', 3, 9), { ...line('b-1', 0), quantity: null }],
      ['pieces: sent 3, shown (cannot be read) × b-1 at 12.50'],
      true,
    ],
    [
      'at another price',
      [line('b-1', 3, 10), line('b-2', 3, 9)],
      ['not at the service: 3 × b-1 at 12.50', 'only at the service: 3 × b-1 at 10.00'],
      false,
    ],
  ])('%s are told, and hold deliveries: %#', (_, orderLineItems, differences, holds) => {
    expect(told(PLAIN, { orderLineItems })).toEqual({ differences, holds });
  });
});

describe('a pre-order', () => {
  const shown = { ...line('b-1', 2), season: 'AW27', delivery: 'drop 1' };

  it('is as it was sent where the head or the lines say so, in any letters', () => {
    const plain = line('b-1', 2);
    expect(told(AHEAD, { SeasonName: 'aw27 ', orderLineItems: [plain] })).toEqual(AS_SENT);
    expect(told(AHEAD, { orderLineItems: [shown] })).toEqual(AS_SENT);
    expect(told(AHEAD, { orderLineItems: [{ ...shown, season: null }] })).toEqual(AS_SENT);
  });

  it.each<[string, ShownOrder, string]>([
    [
      'another season',
      { SeasonName: 'SS27', orderLineItems: [shown] },
      'season: sent AW27, shown SS27',
    ],
    [
      'lines of another season',
      { orderLineItems: [{ ...shown, season: 'SS27' }] },
      'season: sent AW27, shown SS27',
    ],
    [
      'another delivery',
      { SeasonName: 'AW27', orderLineItems: [{ ...shown, delivery: 'Drop 2' }] },
      'not at the service: 2 × b-1 at 12.50 for Drop 1',
    ],
  ])('with %s holds its deliveries', (_, order, difference) => {
    const { differences, holds } = told(AHEAD, order);
    expect(differences).toContain(difference);
    expect(holds).toBe(true);
  });

  it('that nothing shows to be one is held, unless the account is known never to show it', () => {
    const bare = { SeasonName: '', orderLineItems: [{ ...line('b-1', 2), season: null }] };
    expect(told(AHEAD, bare)).toEqual({
      differences: unseenSeason('AW27', 'unknown'),
      holds: true,
    });
    expect(told(AHEAD, bare, 'never')).toEqual(AS_SENT);
    expect(told(AHEAD, bare, 'yes').differences).toEqual([
      'season: sent AW27, shown none: it was taken as a plain order',
    ]);
  });

  it('is named by no blank: neither season nor delivery', () => {
    const lines = [{ barcode: 'b-1', quantity: 2, priceUnits: 12_5000 }];
    for (const blank of [' ', '\u00a0 ']) {
      const bare = { ...line('b-1', 2), season: blank, delivery: blank };
      expect(told({ ...AHEAD, lines }, { SeasonName: blank, orderLineItems: [bare] })).toEqual({
        differences: unseenSeason('AW27', 'unknown'),
        holds: true,
      });
      const named = { SeasonName: blank, orderLineItems: [{ ...bare, season: 'aw27' }] };
      expect(told({ ...AHEAD, lines }, named)).toEqual(AS_SENT);
    }
  });

  it('is no plain order, whose lines may name the season of their styles', () => {
    const orderLineItems = [
      { ...line('b-1', 3), season: 'SS20' },
      { ...line('b-2', 3, 9), season: 'SS20' },
    ];
    expect(told(PLAIN, { SeasonName: 'SS20', orderLineItems })).toEqual(AS_SENT);
  });
});

describe('an address', () => {
  const orderLineItems = [line('b-1', 3), line('b-2', 3, 9)];

  it.each<[string, object]>([
    ['as it was sent', ADDRESS],
    ['written otherwise', { address: 'HAUPTSTR. 5', city: 'KOELN'.replace('OE', 'O'), zip: 50667 }],
    ['whose house number stands apart', { address: 'Hauptstrasse', address2: 'Nr. 5' }],
    ['that is cut', { address: 'Hauptstra', city: 'Kö' }],
    ['with nothing in it', { address: '', city: null, zip: '', countryCode: null }],
    ['in other letters', { countryCode: 'de' }],
  ])('%s is the same', (_, shippingAddress) => {
    expect(told(PLAIN, { shippingAddress: { ...shippingAddress }, orderLineItems })).toEqual(
      AS_SENT,
    );
  });

  it.each<[string, Record<string, unknown>]>([
    ['country', { countryCode: 'AT' }],
    ['zip', { zip: '50668' }],
    ['city', { city: 'Bonn' }],
    ['house', { address: 'Hauptstraße 51' }],
    ['street', { address: 'Am Markt 5' }],
  ])('of another %s holds deliveries', (_, other) => {
    const shippingAddress = { ...ADDRESS, ...other };
    const { differences, holds } = told(PLAIN, { shippingAddress, orderLineItems });
    expect(differences).toEqual([expect.stringMatching(/^address: \w+ sent .+, shown .+$/)]);
    expect(holds).toBe(true);
  });
});

it('tells another address by one of several numbers in it', () => {
  const sent = { ...PLAIN, shippingAddress: { ...ADDRESS, address: 'Hauptstraße 5, 3. Etage' } };
  const orderLineItems = [line('b-1', 3), line('b-2', 3, 9)];
  const address = (text: string) =>
    told(sent, { shippingAddress: { ...ADDRESS, address: text }, orderLineItems }).differences;
  expect(address('Hauptstrasse 5, 3. Etage')).toEqual([]);
  expect(address('Hauptstraße 5, 4. Etage')).toEqual([
    expect.stringMatching(/^address: address sent/),
  ]);
});

it('tells another freight, and holds nothing for it', () => {
  const orderLineItems = [line('b-1', 3), line('b-2', 3, 9)];
  expect(told(PLAIN, { freight: { freightAmount: 7 }, orderLineItems })).toEqual({
    ...{ differences: ['freight: sent 5.00, shown 7.00'], holds: false },
  });
});

it.each<[string, Record<string, number>, string]>([
  ['the same pieces', { a: 1, b: 2 }, 'alike'],
  ['fewer pieces', { a: 1, b: 1 }, 'related'],
  ['one of them', { b: 2 }, 'related'],
  ['others beside them', { a: 1, b: 2, c: 9 }, 'related'],
  ['others in the place of some', { a: 1, c: 2 }, 'other'],
  ['nothing', {}, 'other'],
])('an order of %s is %s', (_, shown, relation) => {
  const lines = (pieces: Record<string, number>) =>
    Object.entries(pieces).map(([barcode, quantity]) => ({ barcode, quantity }));
  expect(relate(piecesOf(lines({ a: 1, b: 2 })), piecesOf(lines(shown)))).toBe(relation);
});

it.each<[string, Record<string, number>, Record<string, number>, boolean]>([
  ['is ours where one alone has lost its zeros', { '0409': 2 }, { '409': 2 }, true],
  ['is another, of the sum of two articles', { '0409': 2, '409': 3 }, { '409': 5 }, false],
  ['is another, with pieces of its two articles', { '409': 5 }, { '0409': 2, '409': 3 }, false],
  ['is ours with two articles', { '0409': 2, '409': 3 }, { '409': 3, '0409': 2 }, true],
])('an order that differs in zeros %s', (_, own, theirs, isAlike) => {
  const lines = (pieces: Record<string, number>) =>
    Object.entries(pieces).map(([barcode, quantity]) => line(barcode, quantity));
  const sent = { ...PLAIN, lines: lines(own).map((one) => ({ ...one, priceUnits: 12_5000 })) };
  const found = compareOrder(sent, { orderLineItems: lines(theirs) });
  expect(found.lines.length === 0).toBe(isAlike);
  const relation = relate(piecesOf(lines(own)), piecesOf(lines(theirs)));
  expect(relation === 'alike').toBe(isAlike);
});

it.each([
  ['quantity', { barcode: 'b', quantity: null }],
  ['barcode', { barcode: null, quantity: 1 }],
])('an order with our pieces, and a line whose %s cannot be read, is not alike', (_, odd) => {
  const lines = [
    { barcode: 'a', quantity: 1 },
    { barcode: 'b', quantity: 2 },
  ];
  expect(relate(piecesOf(lines), piecesOf([...lines, odd]))).toBe('related');
});

it('a refund of two articles that differ in zeros alone is none of their sum', () => {
  const line = (barcode: string, quantity: number) => ({ barcode, quantity });
  const sent = { reference: 'R-1', lines: [line('0409', 2), line('409', 3)] };
  const differs = (refundLineItems: ReturnType<typeof line>[]) =>
    comparePendingRefund(sent, { refundLineItems }).length > 0;
  expect(differs([line('409', 3), line('0409', 2)])).toBe(false);
  expect(differs([line('409', 5)])).toBe(true);
});
