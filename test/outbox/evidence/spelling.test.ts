/** How the spelling of references is learned from orders that were answered. */
import { describe, expect, it } from 'vitest';
import {
  accepts,
  explain,
  explainNewest,
  isBlank,
  isLossy,
  isPlausible,
  type Pair,
  spell,
} from '../../../src/outbox/evidence/spelling.ts';

const SENT = ['Shop  7/2026#A-01731', 'Shop 7/2026#B-01732', 'Shop 12/2026#A-02001'] as const;

/** Services that were seen, or may be: one name, one way. */
const WAYS: Readonly<Record<string, (sent: string) => string>> = {
  kept: (sent) => sent,
  capitals: (sent) => sent.toUpperCase(),
  'single spaces': (sent) => sent.replace(/ +/g, ' '),
  'no spaces': (sent) => sent.replaceAll(' ', ''),
  'no hash': (sent) => sent.replaceAll('#', ''),
  'a dash for a stroke': (sent) => sent.replaceAll('/', '-'),
  'no punctuation': (sent) => sent.replace(/[^A-Za-z0-9 ]/g, ''),
  'letters and digits': (sent) => sent.replace(/[^A-Za-z0-9]/g, ''),
  digits: (sent) => sent.replace(/\D/g, ''),
  'a text before it': (sent) => `WEB: ${sent}`,
  'a text behind it': (sent) => `${sent} (b2b)`,
  'a number before it': (sent) => `${41 + sent.length * 7}/${sent}`,
  'cut to 14': (sent) => sent.replace(/ +/g, ' ').slice(0, 14),
  'cut to 14, double spaces and all': (sent) => sent.slice(0, 14),
  'cut to 14 behind a text': (sent) => `B2B-${sent.replace(/ +/g, ' ')}`.slice(0, 14),
  'cut to 14 before a text': (sent) => `${sent.replace(/ +/g, ' ').slice(0, 14)} (X)`,
  'none at all': () => '',
  'always the same': () => 'ONLINE',
};

function pairsOf(way: (sent: string) => string, sent: readonly string[]): Pair[] {
  return sent.map((one) => ({ sent: one, shown: way(one) }));
}

describe('a spelling that two answered references show', () => {
  it.each(Object.entries(WAYS))('tells how the next one is shown: %s', (_, way) => {
    const [first, second, third] = SENT;
    const learned = explain(pairsOf(way, [first, second]));
    expect(learned).not.toEqual([]);
    const accepting = learned.filter((one) => accepts(one, third, way(third)));
    expect(accepting).toEqual(learned);
    const others = ['Shop 12/2026#A-02002', 'shop 13/2026#a-02001'].filter((one) => {
      const same = way(one).toLowerCase() === way(third).toLowerCase();
      return !same && learned.some((spelling) => accepts(spelling, one, way(third)));
    });
    expect(others).toEqual([]);
  });

  it('spells letters with accents', () => {
    const ways: ((sent: string) => string)[] = [
      (sent) => sent.normalize('NFD'),
      (sent) => sent.replaceAll('ä', 'ae').replaceAll('Ö', 'Oe'),
      (sent) => sent.normalize('NFD').replace(/\p{M}/gu, ''),
      (sent) => sent.replace(/[^ -~]/g, '?'),
    ];
    for (const way of ways) {
      const learned = explain(pairsOf(way, ['Bäk-1', 'Öl-2']));
      expect(learned.map((one) => spell(one, 'Bär-3'))).toEqual([
        way('Bär-3').normalize('NFC').toLowerCase(),
      ]);
    }
  });
});

describe('what is learned', () => {
  const cut = (sent: string): Pair => ({ sent, shown: sent.slice(0, 6) });
  const hashless = (sent: string): Pair => ({ sent, shown: sent.replaceAll('#', '') });

  it('is nothing where no change explains what is shown', () => {
    expect(explain([])).toEqual([]);
    expect(explain([{ sent: 'A-1', shown: 'Z-9' }])).toEqual([]);
    expect(explain([{ sent: 'A-10', shown: '500010' }])).toEqual([]);
    expect(explain([hashless('#A-1'), { sent: 'A-2', shown: 'B-2' }])).toEqual([]);
  });

  it('is all that is equally simple, as long as it differs', () => {
    const learned = explain([hashless('#1'), hashless('#2')]);
    expect(learned.length).toBeGreaterThan(1);
    expect(learned.filter((one) => accepts(one, '#A/3', 'a/3'))).toHaveLength(1);
    expect(learned.every((one) => accepts(one, '#3', '3'))).toBe(true);
  });

  it('goes as far back as one way reaches', () => {
    const pairs = [hashless('#B-4'), hashless('#B-3'), cut('#A-2-longer'), cut('#A-1-longer')];
    const { spellings, explained } = explainNewest(pairs);
    expect(explained).toBe(2);
    expect(spellings.every((one) => accepts(one, '#B-5', 'B-5'))).toBe(true);
    expect(explainNewest([{ sent: 'A-1', shown: 'Z-9' }])).toEqual({ spellings: [], explained: 0 });
  });

  it('is plausible from one answer alone where it is a single change', () => {
    const isOne = (sent: string, shown: string) => isPlausible({ sent, shown });
    expect(isOne('A-1', 'A1') && isOne('A-1', '') && isOne('A-1', 'WEB-A-1')).toBe(true);
    expect(isOne('A-1', 'B-1') || isOne('A-1', 'B-77') || isOne('A-1', 'Z')).toBe(false);
  });
});

describe('a reference', () => {
  const [none] = explain([{ sent: 'A-1', shown: '' }]);
  const [digits] = explain([
    { sent: 'A-1', shown: '1' },
    { sent: 'B-2', shown: '2' },
  ]);
  const [cutToSix] = explain([
    { sent: 'A-1-longer', shown: 'A-1-lo' },
    { sent: 'B-2-longer', shown: 'B-2-lo' },
  ]);
  const [dashless] = explain([
    { sent: 'A-1', shown: 'A1' },
    { sent: 'B-2', shown: 'B2' },
  ]);

  it('of which nothing is left tells nothing', () => {
    expect(none && isBlank(none, 'A-1')).toBe(true);
    expect(digits && isBlank(digits, 'only letters')).toBe(true);
    expect(digits && isBlank(digits, 'A-1')).toBe(false);
  });

  it('is lost in part where letters or digits of it are', () => {
    expect(digits && isLossy(digits, 'A-1')).toBe(true);
    expect(digits && isLossy(digits, '17')).toBe(false);
    expect(cutToSix && isLossy(cutToSix, 'A-1-longer')).toBe(true);
    expect(cutToSix && isLossy(cutToSix, 'A-1')).toBe(false);
    expect(dashless && isLossy(dashless, 'A-1')).toBe(false);
  });
});
