/** Words for people: what was sent is done only once it is confirmed. */

export const STATE_WORDS: Readonly<Record<string, string>> = {
  // An unknown outcome is no failure, and is called by its name.
  in_doubt: 'outcome unknown',
  sending: 'being sent',
  sent: 'sent, not confirmed',
};

export function stateWord(of: string): string {
  return STATE_WORDS[of] ?? of;
}

/** End of one try to send: that the service took it confirms nothing yet. */
export function attemptWord(of: string | null): string {
  if (of === null) return 'under way';
  return of === 'done' ? 'taken' : of;
}
