/**
 * Writes the reference pages of docs/, the JSON Schema of rules and the types of the tables from
 * the code: `npm run references`. The pages are facts, views, commands, settings, metrics and the
 * descriptions of the local API and the console; test/documents/references.test.ts holds that they
 * are current.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CliContext } from '../src/cli/command.ts';
import { commandsFor } from '../src/cli/commands.ts';
import { createOutput } from '../src/cli/output.ts';
import { runCli } from '../src/cli/program.ts';
import { wordFor } from '../src/config/words.ts';
import { consoleDocument } from '../src/console/openapi/document.ts';
import { systemClock } from '../src/lib/clock.ts';
import { createScrubber } from '../src/lib/secret.ts';
import { localApiDocument } from '../src/local-api/openapi/document.ts';
import { INCIDENTS } from '../src/ops/incident-kinds.ts';
import { DATABASE_MEASURES, LIVE_MEASURES } from '../src/ops/metrics/table.ts';
import { viewsMarkdown } from '../src/report/views.ts';
import { factsMarkdown } from '../src/rules/facts/docs.ts';
import { rulesJsonSchema } from '../src/rules/text/schema.ts';
import { openStore } from '../src/store/store.ts';
import { tableTypes } from './table-types.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

const COMMANDS_HEAD = `# Commands

Every command with what its \`--help\` prints. This page is generated from the program
(\`npm run references\`).
`;

const SETTINGS_HEAD = `# Settings

Every setting with its default. This page is generated from \`config/selvedge.yaml\`
(\`npm run references\`), which has the same texts as comments; a file of your own holds only what
differs. \`selvedge config show\` prints the values in force and where each comes from.
`;

const METRICS_HEAD = `# Metrics

What \`/metrics\` tells Prometheus. This page is generated from the table of metrics
(\`npm run references\`). Units are seconds and bytes. Labels have few values: streams, states,
kinds, reasons; never an order, a customer or an article. A name that ends in \`_total\` only
grows, from the start of the process; so does a histogram, which is shown as \`…_bucket\`, \`…_sum\`
and \`…_count\`. What does not occur is 0; what is not known is absent, and never shown as 0. Beside
these there are the usual metrics of a Node process, such as \`process_resident_memory_bytes\` and
\`nodejs_eventloop_lag_p99_seconds\`.
`;

const INCIDENTS_HEAD = `# Incidents

Things that a person must look at: \`selvedge incidents list\` lists those that are open, and
each ends once its reason is gone. This page is generated from the kinds in the program
(\`npm run references\`). The detail of an incident says more;
[needs-attention.md](needs-attention.md) and
[at-three-in-the-morning.md](at-three-in-the-morning.md) go on from here.
`;

const silent = { write: () => undefined };

/** Returns the text that a command line prints. */
async function printedBy(args: readonly string[]): Promise<string> {
  let text = '';
  const stdout = {
    write: (piece: string) => {
      text += piece;
    },
  };
  await runCli(args, { stdout, stderr: silent, env: {} });
  return text.trim();
}

/** The words of every command: `sync run`, … */
async function commandLines(): Promise<string[][]> {
  const scrubber = createScrubber();
  const context: CliContext = {
    env: {},
    scrubber,
    output: createOutput(silent, silent, {}, scrubber.scrub),
    ask: async () => undefined,
    askSecret: async () => undefined,
    setExitCode: () => undefined,
  };
  const lines: string[][] = [];
  for (const outline of await commandsFor([], context)) {
    const name = outline.name();
    const loaded = (await commandsFor([name], context)).find((one) => one.name() === name);
    const below = loaded?.commands.map((one) => [name, one.name()]) ?? [];
    lines.push(...(below.length > 0 ? below : [[name]]));
  }
  return lines;
}

async function commandsMarkdown(): Promise<string> {
  const sections: string[] = [];
  for (const words of await commandLines()) {
    const help = await printedBy([...words, '--help']);
    sections.push(`\n## selvedge ${words.join(' ')}\n\n\`\`\`text\n${help}\n\`\`\`\n`);
  }
  return `${COMMANDS_HEAD}${sections.join('')}`;
}

interface Setting {
  readonly name: string;
  /** Undefined: a group of settings. */
  readonly value: string | undefined;
  readonly comment: string;
}

/** Reads keys, values and the comments above them; the shipped file has one key on a line. */
function settingsIn(text: string): Setting[] {
  const settings: Setting[] = [];
  const path: { name: string; indent: number }[] = [];
  let comment: string[] = [];
  for (const line of text.split('\n')) {
    const [, said] = /^\s*# ?(.*)$/.exec(line) ?? [];
    if (said !== undefined) comment.push(said);
    const [, spaces = '', name, value] = /^(\s*)(\w+):(?:\s+(.*))?$/.exec(line) ?? [];
    if (name !== undefined && said === undefined) {
      while ((path.at(-1)?.indent ?? -1) >= spaces.length) path.pop();
      path.push({ name, indent: spaces.length });
      const full = path.map((one) => one.name).join('.');
      settings.push({ name: full, value, comment: comment.join(' ') });
    }
    if (said === undefined) comment = [];
  }
  return settings;
}

const cell = (text: string): string => text.replaceAll('|', '\\|').trim();

function settingsMarkdown(): string {
  const settings = settingsIn(readFileSync(`${root}config/selvedge.yaml`, 'utf8'));
  const lines: string[] = [];
  let section = '';
  for (const { name, value, comment } of settings) {
    const [first = ''] = name.split('.');
    if (first !== section) {
      section = first;
      lines.push('', `## ${first}`, '');
      if (value === undefined) lines.push(comment, '');
      lines.push('| setting | default | |', '|---|---|---|');
      if (value === undefined) continue;
    }
    const shown = value === undefined ? '' : `\`${cell(value)}\``;
    lines.push(`| \`${name}\` | ${shown} | ${cell(comment)} |`);
  }
  return `${SETTINGS_HEAD}${lines.join('\n')}\n`;
}

function metricsMarkdown(): string {
  const ours = [
    { name: 'build_info', help: 'Always 1', labels: ['version', 'node', 'instance'] },
    {
      name: 'database_readable',
      help: '0 when the database could not be read for these numbers',
      labels: [],
    },
  ];
  const rows = [...ours, ...DATABASE_MEASURES, ...LIVE_MEASURES].map(
    ({ name, help, labels = [] }) =>
      `| \`selvedge_${name}\` | ${labels.join(', ')} | ${cell(help)} |`,
  );
  return `${METRICS_HEAD}\n| name | labels | meaning |\n|---|---|---|\n${rows.join('\n')}\n`;
}

function incidentsMarkdown(): string {
  const rows = Object.entries(INCIDENTS).flatMap(([kind, of]) =>
    of === undefined
      ? []
      : [
          `| \`${kind}\` | ${wordFor('incident', kind)} | ${cell(of.when)} | ${cell(of.todo)} |` +
            ` ${cell(of.ends)} |`,
        ],
  );
  const head = '| kind | in words | when | what to do | it ends when |\n|---|---|---|---|---|';
  return `${INCIDENTS_HEAD}\n${head}\n${rows.join('\n')}\n`;
}

/** File below docs/ → its text. */
export async function referencePages(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ['facts.md', factsMarkdown()],
    ['views.md', viewsMarkdown()],
    ['commands.md', await commandsMarkdown()],
    ['settings.md', settingsMarkdown()],
    ['metrics.md', metricsMarkdown()],
    ['operating/incidents.md', incidentsMarkdown()],
  ]);
}

/** Types of the tables, by a database that is migrated for it. */
async function typesOfTables(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-types-'));
  const path = join(folder, 'mirror.db');
  const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, systemClock());
  await store.close();
  const text = tableTypes(path);
  rmSync(folder, { recursive: true });
  return text;
}

if (import.meta.main) {
  writeFileSync(`${root}src/store/tables/generated.ts`, await typesOfTables());
  for (const [name, text] of await referencePages()) writeFileSync(`${root}docs/${name}`, text);
  writeFileSync(`${root}docs/openapi.json`, JSON.stringify(localApiDocument()));
  writeFileSync(`${root}docs/openapi-console.json`, JSON.stringify(consoleDocument()));
  const schema = `${JSON.stringify(rulesJsonSchema(), null, 2)}\n`;
  writeFileSync(`${root}config/rules/rules.schema.json`, schema);
}
