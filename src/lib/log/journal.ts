/** Whether journald reads what is written to a descriptor. */
import { fstatSync } from 'node:fs';

/**
 * Its word stands in the environment of a whole unit: whoever has sent his output elsewhere, a
 * terminal or a file, has it too (systemd.exec(5)).
 */
export function isJournal(
  { JOURNAL_STREAM }: Readonly<Record<string, string | undefined>>,
  descriptor: number,
): boolean {
  if (JOURNAL_STREAM === undefined) return false;
  const { dev, ino } = fstatSync(descriptor);
  return JOURNAL_STREAM === `${dev}:${ino}`;
}
