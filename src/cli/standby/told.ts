/** How a take-over is told, in the log and on the terminal. */
import type { Logger } from '../../lib/log.ts';
import type { Ended } from '../../standby/take-over/waiting.ts';

/** Lines about it, the most important first. */
export function linesOf(ended: Ended): readonly string[] {
  if (ended.how === 'own') return ['the lease is this machine’s already: start the daemon'];
  const { createdAt, inDoubt, missing, disarmed, withdrawn } = ended.restored;
  return [
    `taken over, from the backup of ${createdAt} and what was recorded since`,
    `in doubt ${inDoubt} pushes; they are looked up once the daemon runs`,
    ...missing.map((one) => `missing  ${one}`),
    ...(disarmed.length > 0 ? [`disarmed ${disarmed.join(', ')}`] : []),
    ...(withdrawn > 0 ? [`withdrawn ${withdrawn} waiting rejects`] : []),
    missing.length > 0
      ? 'pushes   paused until a person resumes: "selvedge resume pushes --reason …"'
      : 'pushes   paused until everything was read once, then they go on by themselves',
  ];
}

export function tellEnded(log: Logger, ended: Ended): void {
  const [first = '', ...rest] = linesOf(ended);
  const isCertain = ended.how === 'own' || ended.restored.missing.length === 0;
  for (const line of [first, ...rest]) {
    if (isCertain) log.info(line);
    else log.warn(line);
  }
}
