/** Finds the known name that a mistyped word means, for "did you mean". */

/**
 * Edits that two swapped letters count as: less than one, because they are the most common slip.
 */
const SWAP = 0.5;

function distance(a: string, b: string): number {
  let beforeLast: readonly number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const substitution = (last[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      const insertion = (current[column - 1] ?? 0) + 1;
      const deletion = (last[column] ?? 0) + 1;
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      const swap = swapped ? (beforeLast[column - 2] ?? Infinity) + SWAP : Infinity;
      current.push(Math.min(substitution, insertion, deletion, swap));
    }
    beforeLast = last;
    last = current;
  }
  return last[b.length] ?? Infinity;
}

/**
 * Finds the closest known name within a third of the word's length (at least 1, at most 3 edits).
 */
export function nearestName(word: string, known: Iterable<string>): string | undefined {
  const limit = Math.min(3, Math.max(1, Math.ceil(word.length / 3)));
  let best: { name: string; edits: number } | undefined;
  for (const name of known) {
    // A difference in length needs as many edits; a word from outside may have a million letters.
    if (Math.abs(word.length - name.length) > limit) continue;
    const edits = distance(word.toLowerCase(), name.toLowerCase());
    if (edits <= limit && (!best || edits < best.edits)) best = { name, edits };
  }
  return best?.name;
}

/** Form in which names are compared by meaning: without case, signs and accents. */
function folded(name: string): string {
  const plain = name.toLowerCase().replaceAll('ß', 'ss').replaceAll('æ', 'ae').replaceAll('ø', 'o');
  return plain.normalize('NFKD').replaceAll(/[^a-z0-9]/g, '');
}

/** Longest word whose meaning is looked for; a word from outside may have a million letters. */
const WORD_CHARS_MAX = 60;

/**
 * Lists the known names that are this word but for case and signs, else those that it stands for by
 * a table of words, which has them with spaces between.
 */
export function meantNames(
  word: string,
  known: Iterable<string>,
  words: Readonly<Record<string, string>>,
): readonly string[] {
  if (word.length > WORD_CHARS_MAX) return [];
  const [form, names] = [folded(word), [...known]];
  if (form === '') return [];
  const same = names.filter((name) => folded(name) === form);
  if (same.length > 0) return same;
  return names.filter((name) => words[name]?.split(/\s+/).some((one) => folded(one) === form));
}
