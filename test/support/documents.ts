/** The fenced blocks of the documents. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { filesBelow, repositoryRoot } from './source.ts';

/** Executed as a whole, or compared with the program, by tests beside their subjects. */
const ELSEWHERE = ['docs/erp-integration.md', 'docs/views.md', 'docs/rules.md'];

export interface Block {
  /** `page:line`. */
  readonly place: string;
  readonly language: string;
  readonly text: string;
}

function readBlocks(): Block[] {
  const pages = [
    ...filesBelow('docs', ['.md']).map(({ path }) => path),
    ...readdirSync(repositoryRoot).filter((name) => name.endsWith('.md')),
  ].filter((path) => !ELSEWHERE.includes(path));
  return pages.flatMap((path) => {
    const page = readFileSync(join(repositoryRoot, path), 'utf8');
    return [...page.matchAll(/^```(\S*)[^\n]*\n(.*?)^```$/gms)].map((match) => ({
      place: `${path}:${page.slice(0, match.index).split('\n').length}`,
      language: match[1] ?? '',
      text: match[2] ?? '',
    }));
  });
}

export function documentBlocks(language: string): Block[] {
  return readBlocks().filter((block) => block.language === language);
}
