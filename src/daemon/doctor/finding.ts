/** Findings of the doctor: the result of a check, with advice. */
import { toError } from '../../lib/errors.ts';

type Grade = 'ok' | 'warning' | 'failed' | 'skipped';

export interface Finding {
  readonly check: string;
  readonly grade: Grade;
  readonly text: string;
  /** Advice for a person; every finding that is not fine has one. */
  readonly advice?: string | undefined;
}

export const fine = (check: string, text: string): Finding => ({ check, grade: 'ok', text });

export const skipped = (check: string, text: string, advice?: string): Finding => ({
  check,
  grade: 'skipped',
  text,
  advice,
});

export function bad(check: string, text: string, advice: string): Finding {
  return { check, grade: 'failed', text, advice };
}

export function odd(check: string, text: string, advice: string): Finding {
  return { check, grade: 'warning', text, advice };
}

/** Runs a check; one that throws becomes a failed finding. */
export async function guarded(
  check: string,
  look: () => Promise<readonly Finding[]> | readonly Finding[],
): Promise<readonly Finding[]> {
  try {
    return await look();
  } catch (thrown) {
    const error = toError(thrown);
    const hint = 'hint' in error && typeof error.hint === 'string' ? error.hint : undefined;
    return [bad(check, error.message, hint ?? 'see the message')];
  }
}
