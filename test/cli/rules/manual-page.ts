/** Blocks and commands of docs/rules.md. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../../support/source.ts';

const page = readFileSync(join(repositoryRoot, 'docs/rules.md'), 'utf8');

/** The blocks between fences, by the language behind the first fence (`''` for none). */
function blocksOf(language: string): string[] {
  const blocks = page.split(/^```/m).filter((_, index) => index % 2 === 1);
  return blocks
    .filter((block) => block.startsWith(`${language}\n`))
    .map((block) => block.slice(language.length + 1));
}

export const [rule = '', tests = '', live = ''] = blocksOf('yaml');
export const shown = blocksOf('');

/** Every `selvedge …` of the page, in a block or in a sentence. */
export function commands(): string[] {
  const blocks = shown.flatMap((block) => block.split('\n'));
  const inline = [...page.matchAll(/`(selvedge [^`]+)`/g)].map((match) => match[1] ?? '');
  const typed = [...blocks, ...inline].filter((line) => line.startsWith('selvedge '));
  return [...new Set(typed.map((line) => line.replace(/\s+/g, ' ').replace(/ >.*/, '').trim()))];
}
