/** Messages with facts in them: `Pre-order {{order.season}}: {{delivery.quantity}} pcs`. */

import { type CelContext, compileExpression, type Language, type Program } from './program.ts';
import type { CelProblem } from './shape.ts';
import { readableText } from './values.ts';

export interface CompiledTemplate {
  readonly template: (context: CelContext) => string;
  readonly problems: readonly CelProblem[];
}

/** A fact that is not known shows as this. */
const UNKNOWN = '?';

export function compileTemplate(text: string, language: Language): CompiledTemplate {
  const problems: CelProblem[] = [];
  const parts: (string | Program)[] = [];
  let done = 0;
  for (const match of text.matchAll(/\{\{(.*?)\}\}/g)) {
    parts.push(text.slice(done, match.index));
    done = match.index + match[0].length;
    const inner = match[1] ?? '';
    const start = match.index + 2;
    const compiled = compileExpression(inner, language, 'any');
    if ('program' in compiled) parts.push(compiled.program);
    else {
      for (const problem of compiled.problems) {
        problems.push({ ...problem, start: start + problem.start, end: start + problem.end });
      }
    }
  }
  const rest = text.slice(done);
  const open = rest.search(/\{\{|\}\}/);
  if (open >= 0) {
    const at = done + open;
    problems.push({ start: at, end: at + 2, message: '{{ and }} must come in pairs' });
  }
  parts.push(rest);
  function render(part: string | Program, context: CelContext): string {
    if (typeof part === 'string') return part;
    const result = part.run(context);
    return result.ok ? readableText(result.value) : UNKNOWN;
  }
  return { template: (context) => parts.map((part) => render(part, context)).join(''), problems };
}
