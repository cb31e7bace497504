import { createServer } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { knobsSchema } from '../../src/reference/control/knobs.ts';
import { startReference } from '../../src/reference/reference.ts';
import {
  createBarcodes,
  createCatalog,
  isEan13,
} from '../../src/reference/world/catalog/catalog.ts';
import { selectVariants } from '../../src/reference/world/catalog/listing.ts';
import { createStock } from '../../src/reference/world/catalog/stock.ts';
import { judgeMove } from '../../src/reference/world/trade/transitions.ts';
import { listeningPort } from './support.ts';

const size = { seed: 7, brands: 7, styles: 230, colors: 3, sizes: 6, seasons: 4 };

describe('the catalog of the world', () => {
  it('numbers variants with valid EAN-13 that lead back to them', () => {
    fc.assert(
      fc.property(fc.nat(4_294_967_295), fc.nat(9_999_999), (seed, variant) => {
        const barcodes = createBarcodes(seed);
        const barcode = barcodes.of(variant);
        return isEan13(barcode) && barcodes.indexOf(barcode) === variant;
      }),
    );
    expect(isEan13('4006381333931')).toBe(true);
    expect(isEan13('4006381333932')).toBe(false);
    expect(createBarcodes(7).indexOf('4006381333931')).toBeUndefined();
  });

  it('has each style number once, each brand and season a share of the styles', () => {
    const catalog = createCatalog(size);
    const styles = Array.from({ length: size.styles }, (_, index) => catalog.style(index));
    expect(new Set(styles.map(({ styleNo }) => styleNo)).size).toBe(size.styles);
    for (let brand = 0; brand < size.brands; brand += 1) {
      const [from, to] = catalog.stylesOfBrand(brand);
      const own = styles.filter((style) => style.brand === brand);
      expect(own.map(({ index }) => index)).toEqual(
        Array.from({ length: to - from }, (_, nth) => from + nth),
      );
      expect(new Set(own.map(({ season }) => season)).size).toBe(size.seasons);
    }
  });

  it('gives a style its colors and sizes without repetition', () => {
    const catalog = createCatalog({ ...size, colors: 12, sizes: 10 });
    for (let index = 0; index < 50; index += 1) {
      const style = catalog.style(index);
      const colors = Array.from({ length: 12 }, (_, color) => catalog.colorOf(index, color));
      const labels = Array.from({ length: 10 }, (_, row) => catalog.sizeLabel(style, row));
      expect(new Set(colors).size).toBe(12);
      expect(new Set(labels).size).toBe(10);
    }
  });

  it('finds rows of a list exactly as counting one by one would', () => {
    const catalog = createCatalog(size);
    const stock = createStock(catalog);
    const random = seededRandom(3);
    for (let nth = 0; nth < 3_000; nth += 1) {
      stock.set(random.int(0, catalog.variantCount - 1), random.int(0, 2));
    }
    const listed = [...stock.frozen().entries()].filter(([, quantity]) => quantity > 0);
    for (let nth = 0; nth < 200; nth += 1) {
      const from = random.int(0, catalog.variantCount);
      const to = random.int(from, catalog.variantCount);
      const within = listed.filter(([variant]) => variant >= from && variant < to);
      expect(stock.stockedIn(from, to)).toBe(within.length);
      const n = random.int(0, within.length + 2);
      expect(stock.nth(from, to, n)).toBe(within[n]?.[0] ?? -1);
    }
  });

  it('selects the same variants by range as by asking each', () => {
    const catalog = createCatalog(size);
    const brandName = catalog.brandName(2);
    const ranges = selectVariants(catalog, { brandName, season: 1 });
    const chosen = ranges.flatMap(([from, to]) =>
      Array.from({ length: to - from }, (_, nth) => from + nth),
    );
    const expected = Array.from({ length: catalog.variantCount }, (_, at) => at).filter(
      (at) => catalog.style(catalog.place(at).style).brand === 2 && catalog.isOfSeason(at, 1),
    );
    expect(chosen).toEqual(expected);
  });
});

describe('the transition table', () => {
  const statuses = ['pending', 'accepted', 'rejected', 'canceled'] as const;
  const table = (more: object = {}) =>
    statuses.map((from) =>
      statuses
        .map((to) => {
          const rules = { shipped: false, rejectFromAccepted: 'conflict' as const, ...more };
          return judgeMove({ from, to, ...rules })[0];
        })
        .join(''),
    );

  it('is the one of the wire contract: moved, same, conflict', () => {
    expect(table()).toEqual(['smmm', 'mscm', 'cccc', 'cccc']);
    expect(table({ rejectFromAccepted: 'allow' })[1]).toBe('msmm');
    expect(table({ shipped: true })[1]).toBe('cscc');
  });
});

describe('the start of the reference service', () => {
  const options = (more: object) => ({
    host: '127.0.0.1',
    ports: { service: 0, relay: 0, control: 0 },
    knobs: knobsSchema.parse({ world: { styles: 10, orders: 0 } }),
    clock: manualClock(),
    log: silentLogger(),
    ...more,
  });

  it('refuses a host that is not loopback', async () => {
    for (const host of ['0.0.0.0', '127.0.0.1.example']) {
      await expect(startReference(options({ host }))).rejects.toMatchObject({
        code: 'reference.public_host',
      });
    }
  });

  it('leaves nothing open or pending when one of its ports is taken', async () => {
    const taken = createServer();
    const control = await listeningPort(taken);
    const clock = manualClock();
    const ports = { service: 0, relay: 0, control };
    await expect(startReference(options({ ports, clock }))).rejects.toThrow('EADDRINUSE');
    expect(clock.pending()).toBe(0);
    taken.close();
  });
});
