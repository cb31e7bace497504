/** Questions about the syntax tree of a condition. */
import type { ASTNode } from '@marcbachmann/cel-js';

/** Child nodes of a node of any kind. */
export function childrenOf(node: ASTNode): readonly ASTNode[] {
  switch (node.op) {
    case 'value':
    case 'id':
      return [];
    case '.':
    case '.?':
      return [node.args[0]];
    case '!_':
    case '-_':
      return [node.args];
    case 'call':
      return node.args[1];
    case 'rcall':
      return [node.args[1], ...node.args[2]];
    case 'map':
      return node.args.flat();
    default:
      return node.args;
  }
}

export function isLiteral(node: ASTNode): boolean {
  if (node.op === '-_') return isLiteral(node.args);
  return node.op === 'value' || (node.op === 'list' && node.args.every(isLiteral));
}

const TEXTS_AND_COMMENTS = /"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\/\/.*/g;

/**
 * The author's text of a node. The library's range of a node lacks the parentheses around its first
 * and last part, and its `serialize` loses those of `a - (b - c)`, so they are added here.
 */
export function sourceOf({ input, start, end }: ASTNode): string {
  const code = input.replaceAll(TEXTS_AND_COMMENTS, (text) => ' '.repeat(text.length));
  let [open, closed] = [0, 0];
  for (const sign of code.slice(start, end)) {
    if (sign === '(') open += 1;
    else if (sign === ')' && open > 0) open -= 1;
    else if (sign === ')') closed += 1;
  }
  let [from, to] = [start, end];
  for (; closed > 0 && from > 0; from -= 1) if (code[from - 1] === '(') closed -= 1;
  for (; open > 0 && to < code.length; to += 1) if (code[to] === ')') open -= 1;
  return input.slice(from, to);
}

/** Text of a literal such as "DKK"; undefined if the node is none. */
export function textOf(node: ASTNode | undefined): string | undefined {
  return node?.op === 'value' && typeof node.args === 'string' ? node.args : undefined;
}
