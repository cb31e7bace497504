/** Small questions about the syntax tree of a condition. */
import type { ASTNode } from '@marcbachmann/cel-js';

/** Children of a node, whatever its kind. */
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
    case 'list':
    case '?:':
      return node.args;
    default:
      return node.args;
  }
}

export function isLiteral(node: ASTNode): boolean {
  if (node.op === '-_') return isLiteral(node.args);
  return node.op === 'value' || (node.op === 'list' && node.args.every(isLiteral));
}

/** The text of a literal such as "DKK". */
export function textOf(node: ASTNode | undefined): string | undefined {
  return node?.op === 'value' && typeof node.args === 'string' ? node.args : undefined;
}
