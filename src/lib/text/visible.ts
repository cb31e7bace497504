/** Texts from outside, for a terminal. */

/** Control characters, and those that reverse the writing direction. */
const STEERING = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;
const ESCAPES: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** The character as a JSON escape. */
function escapeOf(character: string): string {
  return ESCAPES[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/**
 * Escapes characters of a foreign text that a terminal would obey, except `kept` (line feeds, say).
 */
export function visible(text: string, kept = ''): string {
  return text.replace(STEERING, (one) => (kept.includes(one) ? one : escapeOf(one)));
}
