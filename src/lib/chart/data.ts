/** Content of a chart, as callers of chart.ts give it. */

export const CHART_KINDS = ['bar', 'line', 'stacked'] as const;
export type ChartKind = (typeof CHART_KINDS)[number];

export interface ChartSeries {
  readonly name: string;
  /** Values of the series, one for each x; null: nothing is known. */
  readonly values: readonly (number | null)[];
  /** CSS class of the series' colour; without it the next one of the palette. */
  readonly tone?: string;
}

export interface ChartData {
  readonly title: string;
  readonly kind: ChartKind;
  readonly xName: string;
  /** Name of the y axis with its unit, drawn above it; undefined: the title says it. */
  readonly yName?: string;
  readonly xs: readonly string[];
  /**
   * Whether the x labels are a sequence (days, hours, numbers), of which some may be left out;
   * names lean instead.
   */
  readonly isSequence: boolean;
  readonly series: readonly ChartSeries[];
  readonly locale: string;
  /** Formats a value for the summary and the table. */
  readonly format: (value: number) => string;
  /** Words in place of a chart without values. */
  readonly empty: string;
}
