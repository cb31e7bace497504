/** Figures of two checkouts side by side. */
import type { Figure } from './figures.ts';
import { median, table } from './results.ts';

export interface Side {
  readonly root: string;
  readonly label: string;
  /** Figures of each round so far. */
  readonly rounds: (readonly Figure[])[];
}

/** As many digits as say something. */
function digits(value: number): number {
  if (Math.abs(value) >= 100) return 0;
  if (Math.abs(value) >= 10) return 1;
  return Math.abs(value) >= 1 ? 2 : 3;
}

function shown(found: readonly Figure[], value: number): string {
  if (!Number.isFinite(value)) return '-';
  return `${found.some(({ isBeyond }) => isBeyond) ? '> ' : ''}${value.toFixed(digits(value))}`;
}

function named(side: Side, name: string): readonly Figure[] {
  return side.rounds.flatMap((figures) => figures.filter((one) => one.name === name));
}

/** Fewer rounds that lie apart may be chance. */
const ROUNDS_JUDGED_MIN = 3;

/** Nothing where a round of the one lies among those of the other: that may be chance too. */
function judged(better: Figure['better'], here: readonly number[], there: readonly number[]) {
  if (Math.min(here.length, there.length) < ROUNDS_JUDGED_MIN) return '';
  const [least, most] = [Math.min(...here), Math.max(...here)];
  const isLower = most < Math.min(...there);
  const isHigher = least > Math.max(...there);
  if (!isLower && !isHigher) return '';
  return isLower === (better === 'lower') ? 'better' : 'worse';
}

function line(figure: Figure, here: Side, there: Side): readonly string[] {
  const { name, better } = figure;
  const [ours, theirs] = [named(here, name), named(there, name)];
  const values = (found: readonly Figure[]) => found.map(({ value }) => value);
  const [own, other] = [median(values(ours)), median(values(theirs))];
  const ratio = own / other;
  const judgement = judged(better, values(ours), values(theirs));
  return [
    name,
    shown(theirs, other),
    shown(ours, own),
    Number.isFinite(ratio) ? ratio.toFixed(digits(ratio)) : '-',
    judgement,
  ];
}

/** Text of a comparison; `command` is the name and the options of the benchmark. */
export function compared(command: string, here: Side, there: Side): string {
  const all = [...here.rounds, ...there.rounds].flat();
  const figures = [...new Map(all.map((figure) => [figure.name, figure])).values()];
  const count = here.rounds.length;
  const rounds = count === 1 ? 'One round' : `Medians of ${count} alternating rounds`;
  const intro =
    `${rounds} of \`${command}\`. The ratio is here ÷ ${there.label}; behind it stands a word ` +
    `where all of ${ROUNDS_JUDGED_MIN} rounds or more of the one lie beyond those of the other.`;
  const titles = ['', there.label, `here (${here.label})`, 'ratio', ''];
  const lines = figures.map((figure) => line(figure, here, there));
  return `${intro}\n\n${table(titles, lines)}`;
}
