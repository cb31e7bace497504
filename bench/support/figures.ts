/** Figures by which a benchmark is compared with itself at another commit. */

export interface Figure {
  /** With its unit, as in a table: `loop p99, ms`. */
  readonly name: string;
  readonly better: 'lower' | 'higher';
  readonly value: number;
  /** Nobody waited for the end: the true figure is beyond this one. */
  readonly isBeyond?: boolean;
}

export interface Section {
  readonly title: string;
  readonly text: string;
}

/** Message of a benchmark to the one who runs it. */
export type Told = { readonly figures: readonly Figure[] } | { readonly section: Section };

export function lower(name: string, value: number): Figure {
  return { name, better: 'lower', value };
}

export function higher(name: string, value: number): Figure {
  return { name, better: 'higher', value };
}

/** Tells run.ts what is compared; a benchmark that somebody runs by hand has told a person. */
export function tell(...figures: readonly Figure[]): void {
  const told: Told = { figures };
  process.send?.(told);
}
