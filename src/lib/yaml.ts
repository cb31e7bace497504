/**
 * One way to parse YAML that people write: version 1.2, no merge keys, no duplicate keys, and the
 * place of every offset. Configuration and rules build on it.
 */
import { type Document, LineCounter, parseDocument } from 'yaml';

export interface ParsedYaml {
  readonly document: Document.Parsed;
  /** Line and column of an offset, both from 1. */
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
    // The parser's own warnings about keys would go past the log.
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
