/** Meters of a process during some work: time, CPU, memory, and how late its timers came. */
import { readFileSync, writeFileSync } from 'node:fs';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';

export interface Figures {
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** The highest resident size of the whole process. */
  readonly peakMiB: number;
  /** Delay of the main thread's event loop. */
  readonly delayP99Ms: number;
  readonly delayMaxMs: number;
}

export interface Meter {
  /** Since it was started; the peak as well, where the system can forget the last one. */
  read(): Figures;
}

export function startMeter(): Meter {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  // 5: forget the highest resident size (proc(5)).
  writeFileSync('/proc/self/clear_refs', '5');
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  return {
    read() {
      delay.disable();
      const used = process.cpuUsage(cpu);
      const peak = /VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
      return {
        seconds: (performance.now() - startedAt) / 1_000,
        cpuSeconds: (used.user + used.system) / 1e6,
        peakMiB: Number(peak) / 1_024,
        delayP99Ms: delay.percentile(99) / 1e6,
        delayMaxMs: delay.max / 1e6,
      };
    },
  };
}
