/** A mark before three digits, which may separate thousands or decimals. */
const AMBIGUOUS = /^[+-]?[1-9]\d{0,2}[.,]\d{3}$/;

/** Whether a text is a number that depends on how its writer writes decimals: `12.500`. */
export function isAmbiguous(value: unknown): boolean {
  return typeof value === 'string' && AMBIGUOUS.test(value.trim());
}
