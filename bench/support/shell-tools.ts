/** Measures the shell's tools at the same task: curl into jq into a database. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { DETAILS, MEMBERS } from './columns.ts';
import type { Figures } from './meters.ts';

export interface ShellTool {
  readonly name: string;
  /** Programs that must be there. */
  readonly needs: readonly string[];
  command(folder: string, url: string): string;
}

const row = [...MEMBERS, ...DETAILS.map((name) => `details.${name}`)].map((name) => `.${name}`);
const columns = [...MEMBERS, ...DETAILS.map((name) => `details_${name}`), 'images'].join(', ');

export const SHELL_TOOLS: readonly ShellTool[] = [
  {
    name: 'curl | jq | sqlite3',
    needs: ['curl', 'jq', 'sqlite3'],
    command: (folder, url) =>
      `curl -sf '${url}' | jq -r '.data.variants[]|[${row.join(',')},(.details.images|tojson)]|` +
      `@csv' | sqlite3 ${join(folder, 'pipe.db')} ` +
      `'create table v(${columns}, primary key (barcode))' '.import --csv /dev/stdin v'`,
  },
  {
    name: 'curl | jq | sqlite-utils upsert',
    needs: ['curl', 'jq', 'sqlite-utils'],
    command: (folder, url) =>
      `curl -sf '${url}' | jq -c '.data.variants' | ` +
      `sqlite-utils upsert ${join(folder, 'utils.db')} v - --pk barcode`,
  },
];

/** The first program that is missing. */
export function missingProgram({ needs }: ShellTool): string | undefined {
  return needs.find((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0);
}

/** `times` of the shell: its own line, then `0m1.250s 0m0.031s` of its children. */
function childSeconds(times: string): number {
  const line = times.trim().split('\n').at(-1) ?? '';
  return [...line.matchAll(/(\d+)m([\d.]+)s/g)]
    .map(([, minutes, seconds]) => Number(minutes) * 60 + Number(seconds))
    .reduce((sum, seconds) => sum + seconds, 0);
}

export function runShellTool(tool: ShellTool, folder: string, url: string): Figures {
  const startedAt = performance.now();
  const command = `set -e; ${tool.command(folder, url)}; times`;
  const { status, stdout } = spawnSync('bash', ['-o', 'pipefail', '-c', command], {
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
  });
  const seconds = (performance.now() - startedAt) / 1_000;
  if (status !== 0) throw new Error(`${tool.name} failed`);
  const unknown = { peakMiB: Number.NaN, delayP99Ms: Number.NaN, delayMaxMs: Number.NaN };
  return { seconds, cpuSeconds: childSeconds(stdout), ...unknown };
}
