/** Detects whether journald reads a descriptor. */
import { fstatSync } from 'node:fs';

/**
 * Compares the file too, because the variable is set for a whole unit, even when output was
 * redirected to a terminal or a file (systemd.exec(5)).
 */
export function isJournald(
  { JOURNAL_STREAM }: Readonly<Record<string, string | undefined>>,
  descriptor: number,
): boolean {
  if (JOURNAL_STREAM === undefined) return false;
  const { dev, ino } = fstatSync(descriptor);
  return JOURNAL_STREAM === `${dev}:${ino}`;
}
