/**
 * Parses YAML that people write, in one way: version 1.2, no merge keys, no duplicate keys, and the
 * place of every offset. Configuration and rules build on it.
 */
import { type Document, isScalar, LineCounter, parseDocument, visit, YAMLParseError } from 'yaml';

export interface ParsedYaml {
  readonly document: Document.Parsed;
  /** Gives line and column of an offset in the text, both from 1. */
  placeAt(offset: number): { readonly line: number; readonly column: number };
}

/**
 * Reports keys that occur twice in one map. The library compares each key with all before it, which
 * takes seconds for a map of 10,000.
 */
function refuseDuplicates(document: Document.Parsed): void {
  visit(document, {
    Map(_, map) {
      const seen = new Set<unknown>();
      for (const { key } of map.items) {
        if (!isScalar(key)) continue;
        const [at = 0] = key.range ?? [];
        if (seen.has(key.value)) {
          const message = 'Map keys must be unique';
          document.errors.push(new YAMLParseError([at, at + 1], 'DUPLICATE_KEY', message));
        }
        seen.add(key.value);
      }
    },
  });
}

export function parseYaml(text: string): ParsedYaml {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    version: '1.2',
    schema: 'core',
    strict: true,
    uniqueKeys: false,
    merge: false,
    prettyErrors: false,
    // The parser must not print warnings about keys itself, because they would go past the log.
    logLevel: 'error',
    lineCounter: lines,
  });
  refuseDuplicates(document);
  return {
    document,
    placeAt(offset) {
      const { line, col } = lines.linePos(offset);
      return { line: Math.max(line, 1), column: Math.max(col, 1) };
    },
  };
}
