/**
 * Computes the places of everything in a chart. Labels below the axis never overlap: they stand
 * level where they fit, lean where they do not, and are thinned where even that is too close.
 */
import { type ScaleLinear, scaleLinear } from 'd3-scale';
import type { ChartData } from './data.ts';
import { FONT_PX, fitLabel, LINE_PX, widthOf } from './text.ts';

const WIDTH = 720;
const PLOT_HEIGHT = 200;
const TOP = 10;
/** Height of the line above the axis with its name. */
const NAME_PX = 18;
const GAP = 8;
/** Maximum length in pixels of a label that leans. */
const LEAN_PX_MAX = 150;
/** Sine and cosine of the 45 degrees by which labels lean. */
const LEAN = Math.SQRT1_2;
const TICKS = 5;
/** Minimum width in pixels of the band of one x, with its bars. */
const BAND_PX_MIN = 4;
const COMPACT_FROM = 1_000_000;

interface XLabel {
  readonly index: number;
  readonly text: string;
}

interface YTick {
  readonly value: number;
  readonly text: string;
}

export interface Layout {
  readonly width: number;
  readonly height: number;
  readonly left: number;
  readonly right: number;
  readonly base: number;
  readonly bandPx: number;
  readonly y: ScaleLinear<number, number>;
  readonly ticks: readonly YTick[];
  readonly labels: readonly XLabel[];
  readonly leans: boolean;
  /** Middle of the band of an x, in pixels. */
  readonly middle: (index: number) => number;
}

/** Lowest and highest value of the y axis, zero included. */
function extentOf({ kind, xs, series }: ChartData): readonly [number, number] {
  let [low, high] = [0, 0];
  for (const index of xs.keys()) {
    let [below, above] = [0, 0];
    for (const { values } of series) {
      const value = values[index] ?? 0;
      if (kind !== 'stacked') [below, above] = [Math.min(below, value), Math.max(above, value)];
      else if (value < 0) below += value;
      else above += value;
    }
    [low, high] = [Math.min(low, below), Math.max(high, above)];
  }
  return [low, low === high ? low + 1 : high];
}

function isWhole({ series }: ChartData): boolean {
  return series.every(({ values }) => values.every((one) => one === null || Number.isInteger(one)));
}

/** Ticks of the y axis, with texts that differ from each other. */
function ticksOf(y: ScaleLinear<number, number>, data: ChartData): YTick[] {
  const whole = isWhole(data);
  const values = y.ticks(TICKS).filter((value) => !whole || Number.isInteger(value));
  const step = Math.abs((values[1] ?? 1) - (values[0] ?? 0));
  const most = Math.max(...values.map(Math.abs));
  const digits = Math.min(6, Math.max(0, -Math.floor(Math.log10(step || 1))));
  const plain = new Intl.NumberFormat(data.locale, { maximumFractionDigits: digits });
  const short = new Intl.NumberFormat(data.locale, {
    notation: 'compact',
    maximumFractionDigits: 2,
  });
  const shown = values.map((value) => (most >= COMPACT_FROM ? short : plain).format(value));
  const isClear = new Set(shown).size === shown.length;
  return values.map((value, index) => ({
    value,
    text: isClear ? (shown[index] ?? '') : plain.format(value),
  }));
}

function thinned(xs: readonly string[], every: number, pixelsMax: number): XLabel[] {
  return xs.flatMap((text, index) =>
    index % every === 0 ? [{ index, text: fitLabel(text, pixelsMax) }] : [],
  );
}

/** Chooses the x labels for bands of this width. */
function labelsFor({ xs, isSequence }: ChartData, bandPx: number) {
  const widest = Math.max(0, ...xs.map((text) => widthOf(text)));
  const level = widest + GAP;
  if (level <= bandPx || (isSequence && level <= LEAN_PX_MAX)) {
    const every = Math.max(1, Math.ceil(level / bandPx));
    return { leans: false, labels: thinned(xs, every, widest + 1) };
  }
  if (xs.length === 1) return { leans: false, labels: thinned(xs, 1, bandPx) };
  const every = Math.max(1, Math.ceil(LINE_PX / LEAN / bandPx));
  return { leans: true, labels: thinned(xs, every, LEAN_PX_MAX) };
}

/** Pixels that labels need to the left of the first band and to the right of the last one. */
function overhangs(labels: readonly XLabel[], leans: boolean, bandPx: number, count: number) {
  let [left, right] = [0, 0];
  for (const { index, text } of labels) {
    const width = widthOf(text);
    const before = (index + 0.5) * bandPx;
    const behind = (count - index - 0.5) * bandPx;
    left = Math.max(left, (leans ? width * LEAN + FONT_PX : width / 2) - before);
    right = Math.max(right, (leans ? FONT_PX : width / 2) - behind);
  }
  return { left: left + 2, right: right + 2 };
}

function bottomOf(labels: readonly XLabel[], leans: boolean): number {
  if (!leans) return LINE_PX + GAP + 4;
  const longest = Math.max(...labels.map(({ text }) => widthOf(text)));
  return longest * LEAN + LINE_PX + GAP;
}

export function layoutOf(data: ChartData): Layout {
  const count = Math.max(1, data.xs.length);
  const top = TOP + (data.yName === undefined ? 0 : NAME_PX);
  const base = top + PLOT_HEIGHT;
  const bars = data.kind === 'bar' ? Math.max(1, data.series.length) : 1;
  const y = scaleLinear().domain(extentOf(data)).nice(TICKS).range([base, top]);
  const ticks = ticksOf(y, data);
  const axis = Math.max(...ticks.map(({ text }) => widthOf(text)), 0) + GAP;
  let [left, right] = [axis, GAP];
  const widthMin = count * BAND_PX_MIN * bars;
  const width = Math.ceil(Math.max(WIDTH, left + widthMin + right));
  let bandPx = (width - left - right) / count;
  let found = labelsFor(data, bandPx);
  // Labels and bands are computed again, because wider margins make thinner bands.
  for (let round = 0; round < 4; round += 1) {
    const over = overhangs(found.labels, found.leans, bandPx, count);
    [left, right] = [Math.max(left, over.left), Math.max(right, over.right)];
    bandPx = (width - left - right) / count;
    found = labelsFor(data, bandPx);
  }
  return {
    ...found,
    width,
    height: Math.ceil(base + bottomOf(found.labels, found.leans)),
    left,
    right: width - right,
    base,
    bandPx,
    y,
    ticks,
    middle: (index) => left + (index + 0.5) * bandPx,
  };
}
