/** Detects whether systemd's journal reads an output. */
import { fstatSync } from 'node:fs';

/**
 * Whether journald reads a file descriptor. `JOURNAL_STREAM` alone does not tell, because it is set
 * for a whole unit, even when an output was redirected to a terminal or a file (systemd.exec(5)).
 */
export function isJournald(
  { JOURNAL_STREAM }: Readonly<Record<string, string | undefined>>,
  descriptor: number,
): boolean {
  if (JOURNAL_STREAM === undefined) return false;
  const { dev, ino } = fstatSync(descriptor);
  return JOURNAL_STREAM === `${dev}:${ino}`;
}
