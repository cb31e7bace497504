/**
 * Parses YAML that people write, in one way: version 1.2, no merge keys, no duplicate keys, and the
 * place of every offset. Configuration and rules build on it.
 */
import { type Document, LineCounter, parseDocument } from 'yaml';

export interface ParsedYaml {
  readonly document: Document.Parsed;
  /** Gives line and column of an offset in the text, both from 1. */
  placeAt(offset: number): { readonly line: number; readonly column: number };
}

export function parseYaml(text: string): ParsedYaml {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    version: '1.2',
    schema: 'core',
    strict: true,
    uniqueKeys: true,
    merge: false,
    prettyErrors: false,
    // The parser must not print warnings about keys itself, because they would go past the log.
    logLevel: 'error',
    lineCounter: lines,
  });
  return {
    document,
    placeAt(offset) {
      const { line, col } = lines.linePos(offset);
      return { line: Math.max(line, 1), column: Math.max(col, 1) };
    },
  };
}
