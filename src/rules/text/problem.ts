/** A problem of a rule file: its place, one sentence, a hint and the source line. */

export interface Problem {
  readonly severity: 'error' | 'warning' | 'note';
  readonly file: string;
  /** Line in the file, from 1. */
  readonly line: number;
  /** Column in the line, from 1. */
  readonly column: number;
  readonly ruleId?: string | undefined;
  readonly message: string;
  readonly hint?: string | undefined;
  /** Text of the whole source line; `length` is how much of it to underline. */
  readonly source: string;
  readonly length: number;
}

/**
 * Formats a problem for people:
 *
 * ```text
 * deliveries.yaml:5:15 a: order has no field "contry" - did you mean: country?
 *       - order.contry == "DK"
 *               ^^^^^^
 * ```
 */
export function formatProblem(problem: Problem): string {
  const { file, line, column, ruleId, message, hint, source, length, severity } = problem;
  const kind = severity === 'error' ? '' : `${severity}: `;
  const rule = ruleId === undefined ? '' : ` ${ruleId}:`;
  const tail = hint === undefined ? '' : ` - ${hint}`;
  const head = `${file}:${line}:${column}${rule} ${kind}${message}${tail}`;
  if (source.trim() === '') return head;
  const marked = Math.max(1, Math.min(length, source.length - column + 1));
  return `${head}\n${source}\n${' '.repeat(column - 1)}${'^'.repeat(marked)}`;
}

function byFile(a: Problem, b: Problem): number {
  if (a.file === b.file) return 0;
  return a.file < b.file ? -1 : 1;
}

/**
 * Sorts problems by file and place, errors and warnings mixed, so that a person reads from top to
 * bottom.
 */
export function sortProblems(problems: readonly Problem[]): readonly Problem[] {
  return problems.toSorted((a, b) => byFile(a, b) || a.line - b.line || a.column - b.column);
}
