/** Content of a chart, as its callers give it. */

export const CHART_KINDS = ['bar', 'line', 'stacked'] as const;
export type ChartKind = (typeof CHART_KINDS)[number];

export interface ChartSeries {
  readonly name: string;
  /** A value for each x; null: nothing is known. */
  readonly values: readonly (number | null)[];
  /** Class of its colour; without it the next one of the palette. */
  readonly tone?: string;
}

export interface ChartData {
  readonly title: string;
  readonly kind: ChartKind;
  readonly xName: string;
  readonly xs: readonly string[];
  /** Labels of a sequence (days, hours, numbers) may be left out; names lean instead. */
  readonly isSequence: boolean;
  readonly series: readonly ChartSeries[];
  readonly locale: string;
  /** A value as the summary and the table show it. */
  readonly format: (value: number) => string;
  /** Words in the place of a chart without values. */
  readonly empty: string;
}
