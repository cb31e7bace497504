/** Exact numbers as fractions, so that nothing is ever rounded. */
export interface Exact {
  readonly top: bigint;
  /** Above zero. */
  readonly bottom: bigint;
}

export function whole(value: number | bigint): Exact {
  return { top: BigInt(value), bottom: 1n };
}

/** `-12.50` as it is written. */
export function exactOf(text: string): Exact {
  const [, sign = '', digits = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  if (digits === '') throw new Error(`${text} is no number`);
  return { top: BigInt(`${sign}${digits}${fraction}`), bottom: 10n ** BigInt(fraction.length) };
}

/** An amount of the plain facts, in ten-thousandths. */
export function amountOf(units: number): Exact {
  return { top: BigInt(units), bottom: 10_000n };
}

export function compare(a: Exact, b: Exact): number {
  const difference = a.top * b.bottom - b.top * a.bottom;
  if (difference === 0n) return 0;
  return difference < 0n ? -1 : 1;
}

export function plus(a: Exact, b: Exact): Exact {
  return { top: a.top * b.bottom + b.top * a.bottom, bottom: a.bottom * b.bottom };
}

export function minus(a: Exact, b: Exact): Exact {
  return plus(a, { top: -b.top, bottom: b.bottom });
}

export function times(a: Exact, b: Exact): Exact {
  return { top: a.top * b.top, bottom: a.bottom * b.bottom };
}

/**
 * Rounds to four decimals: `half` away from zero, `up` to the next one above; not for negatives.
 */
export function toFourDecimals({ top, bottom }: Exact, how: 'half' | 'up'): Exact {
  const more = how === 'half' ? bottom / 2n : bottom - 1n;
  const scaled = (top < 0n ? -top : top) * 10_000n;
  const units = (scaled + more) / bottom;
  return { top: top < 0n ? -units : units, bottom: 10_000n };
}
