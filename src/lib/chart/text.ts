/** Estimates the widths of texts without a browser, generously, so that no texts overlap. */
import { visible } from '../strings.ts';

export const FONT_PX = 11;
export const LINE_PX = 14;

const NARROW = /[iIjltfr.,:;'|!()[\] -]/;
const BROAD = /[mwMW@%]/;

/** Width of a character in em, in the widest of the usual sans-serif fonts. */
function emOf(character: string): number {
  if (character > '\u2e80') return 1;
  if (NARROW.test(character)) return 0.42;
  if (BROAD.test(character)) return 0.98;
  return /[A-ZÀ-Þ]/.test(character) ? 0.76 : 0.64;
}

/** Estimates the width of a text in pixels, rather too wide than too narrow. */
export function widthOf(text: string, fontPx = FONT_PX): number {
  return [...text].reduce((sum, character) => sum + emOf(character), 0) * fontPx;
}

/** Cuts a text to a width, with an ellipsis; control characters become visible. */
export function fitText(text: string, pixelsMax: number, fontPx = FONT_PX): string {
  return cut(text, pixelsMax, fontPx, (letters, kept) => `${letters.slice(0, kept).join('')}…`);
}

/** Cuts a label in the middle, because labels of neighbours often differ at their end. */
export function fitLabel(text: string, pixelsMax: number): string {
  return cut(text, pixelsMax, FONT_PX, (letters, kept) => {
    const head = Math.ceil(kept * 0.6);
    const tail = letters.slice(letters.length - (kept - head));
    return `${letters.slice(0, head).join('')}…${tail.join('')}`;
  });
}

function cut(
  text: string,
  pixelsMax: number,
  fontPx: number,
  shorten: (letters: readonly string[], kept: number) => string,
): string {
  const shown = visible(text);
  if (widthOf(shown, fontPx) <= pixelsMax) return shown;
  const letters = [...shown].slice(0, Math.ceil(pixelsMax));
  const tail = [...shown].slice(-Math.ceil(pixelsMax));
  const both = [...letters, ...tail];
  let kept = letters.length;
  while (kept > 0 && widthOf(shorten(both, kept), fontPx) > pixelsMax) kept -= 1;
  return shorten(both, kept);
}
