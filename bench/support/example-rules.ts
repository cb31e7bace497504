/** As many rules as a benchmark wants, all copies of the example rules. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadRules } from '../../src/rules/load.ts';

const folder = join(import.meta.dirname, '../../config/rules');

export function loadExamples(count: number) {
  const settings = {
    path: 'settings.yaml',
    text: readFileSync(join(folder, 'settings.yaml'), 'utf8'),
  };
  const all = readFileSync(join(folder, 'deliveries.yaml'), 'utf8');
  const [, ...examples] = all.split('\n  - id: ');
  const rules = Array.from({ length: count }, (_, index) => {
    return `\n  - id: r${index}-${examples[index % examples.length]}`;
  });
  const loaded = loadRules([settings, { path: 'rules.yaml', text: `rules:${rules.join('')}\n` }]);
  if ('problems' in loaded) throw new Error(loaded.problems[0]?.message);
  return loaded.ruleSet;
}
