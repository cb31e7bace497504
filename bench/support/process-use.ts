/** Memory and CPU of another process, as the system tells. */
import { readFileSync } from 'node:fs';

/** The kernel counts the time of a process in these (proc(5)). */
const TICKS_PER_SECOND = 100;

export interface Use {
  readonly residentMiB: number;
  readonly cpuSeconds: number;
}

export function useOf(pid: number): Use {
  const resident = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  // After the name, which may hold anything: utime and stime are the 12th and 13th.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  const ticks = Number(fields[11]) + Number(fields[12]);
  return { residentMiB: Number(resident) / 1_024, cpuSeconds: ticks / TICKS_PER_SECOND };
}
