/** Texts from outside, for a terminal. */

/** Control characters, and what turns the direction of writing round. */
const STEERING = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;
const ESCAPES: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** The character as JSON may write it. */
function escapeOf(character: string): string {
  return ESCAPES[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/**
 * A text from outside for a terminal, which would obey some of its characters: they are shown
 * instead, but for `kept` (line feeds, say).
 */
export function visible(text: string, kept = ''): string {
  return text.replace(STEERING, (one) => (kept.includes(one) ? one : escapeOf(one)));
}
