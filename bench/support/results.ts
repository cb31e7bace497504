/** `bench/results.md`: one section for each benchmark, replaced by its next run. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Section, Told } from './figures.ts';

const FILE = join(import.meta.dirname, '..', 'results.md');
const TITLE = '# Benchmarks\n\nWritten by `npm run bench`; each section names what it ran on.\n';

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/** `-` for what was not measured. */
export function cell(value: number, digits: number): string {
  return Number.isFinite(value) ? value.toFixed(digits) : '-';
}

function tableLine(cells: readonly string[]): string {
  return `| ${cells.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`;
}

/** The first column is text, the others are numbers. */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = titles.map((_, index) => (index === 0 ? '---' : '---:'));
  return [titles, rule, ...rows].map(tableLine).join('\n');
}

function sectionOf(title: string, text: string): string {
  return `## ${title}\n\n${machine()} ${text}\n`;
}

function machine(): string {
  const model = cpus()[0]?.model.replaceAll(/\s+/g, ' ').trim() ?? 'unknown processor';
  const memory = Math.round(totalmem() / 2 ** 30);
  const day = new Date().toISOString().slice(0, 10);
  const { node } = process.versions;
  return `${day}, ${availableParallelism()} cores of ${model}, ${memory} GiB, Node ${node}.`;
}

/** Puts a section in the place of the one with the same title. */
export function keep({ title, text }: Section): void {
  const section = sectionOf(title, text);
  const before = existsSync(FILE) ? readFileSync(FILE, 'utf8') : TITLE;
  const [top = TITLE, ...sections] = before.split(/^(?=## )/m);
  const others = sections.filter((one) => !one.startsWith(`## ${title}\n`));
  const all = [...others.map((one) => `${one.trim()}\n`), section].toSorted();
  writeFileSync(FILE, [`${top.trim()}\n`, ...all].join('\n'));
}

/**
 * Shows a section and keeps it. Run by run.ts, a benchmark leaves the second to it: where two
 * commits are compared, only the comparison is kept.
 */
export function report(title: string, text: string): void {
  console.log(`\n${sectionOf(title, text)}`);
  const told: Told = { section: { title, text } };
  if (process.send) process.send(told);
  else keep(told.section);
}
