/** Waiting for what must outlive this machine, where there is a standby. */

/**
 * Resolves once a second machine would have all that was committed so far; `unknown`: it is kept
 * here, and nobody knows whether also there.
 */
export type Keep = () => Promise<'kept' | 'unknown'>;
