/** A text that the service left empty tells no more than one that is not there. */
export function told(text: string | null | undefined): string | null {
  return text === undefined || text === '' ? null : text;
}
