/** Finds comparisons of a fact that is never negative with a number below zero. */
import type { ASTNode } from '@marcbachmann/cel-js';
import type { Shape } from '../cel/shape.ts';
import { childrenOf, sourceOf } from '../cel/tree.ts';
import { MIRRORED, numberOf } from './atoms.ts';

interface SignProblem {
  readonly message: string;
  readonly hint: string;
}

/** Whether a comparison with a number can never be true, or always is, above a smallest value. */
function truthAbove(min: number, op: string, bound: number): 'never' | 'always' | undefined {
  if (op === '<' ? bound <= min : (op === '<=' || op === '==') && bound < min) return 'never';
  if (op === '>=' ? bound <= min : (op === '>' || op === '!=') && bound < min) return 'always';
  return undefined;
}

/** The comparison that its author may have meant. */
function repaired(fact: string, op: string, bound: number, literal: string): string {
  if (bound < 0) {
    const turned = op === '==' || op === '!=' ? op : MIRRORED.get(op);
    return `${fact} ${turned} ${literal.replace('-', '')}`;
  }
  const short = fact.replace(/\.stock_free$/, '.missing');
  if (short !== fact) return op === '<' ? `${short} > 0` : `${short} == 0`;
  return op === '<' ? `${fact} == 0` : `has(${fact})`;
}

/** Says what is wrong with a comparison whose fact has a smallest value; undefined: nothing. */
export function signProblem(
  node: ASTNode,
  shapeOf: (node: ASTNode) => Shape,
): SignProblem | undefined {
  const mirrored = MIRRORED.get(node.op);
  const [left, right] = childrenOf(node);
  if (mirrored === undefined || !left || !right) return undefined;
  for (const [fact, other, op] of [
    [left, right, node.op],
    [right, left, mirrored],
  ] as const) {
    const shape = shapeOf(fact);
    const bound = numberOf(other);
    if (shape.kind !== 'field' || shape.field.min === undefined || bound === undefined) continue;
    const truth = truthAbove(shape.field.min, op, bound);
    if (truth === undefined) continue;
    const text = repaired(sourceOf(fact), op, bound, sourceOf(other));
    const message =
      truth === 'never'
        ? `this is never true: ${shape.path} is never below ${shape.field.min}`
        : 'this is true for every delivery where it is known';
    return { message, hint: `write ${text}` };
  }
  return undefined;
}
