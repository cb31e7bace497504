/** The manual pages, in the macros of man(7). */
import type { Setting } from '../../config/settings.ts';
import { EXIT } from '../../lib/errors.ts';
import { type CommandNode, everyNode } from './tree.ts';

export const PAGES = ['selvedge.1', 'selvedge.yaml.5'] as const;
export type Page = (typeof PAGES)[number];

/** A character beyond ASCII, as roff wants it. */
function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `\\[u${code.toString(16).toUpperCase().padStart(4, '0')}]`;
}

/** Text that roff prints as it is. */
function plain(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .split('\n')
    .map((line) => line.replace(/^([.'])/, '\\&$1'))
    .join('\n')
    .replace(/[^\n\x20-\x7e]/gu, escaped);
}

function head(name: string, section: number, version: string, about: string): string[] {
  return [
    `.TH ${name.toUpperCase()} ${section} "" "selvedge ${version}" "Selvedge"`,
    '.SH NAME',
    `${plain(name)} \\- ${plain(about)}`,
  ];
}

function item(term: string, about: string): string[] {
  return ['.TP', `.B ${plain(term)}`, plain(about)];
}

function commandLines(node: CommandNode): string[] {
  const title = ['selvedge', ...node.path, node.usage].join(' ').trim();
  return [
    `.SS ${plain(title)}`,
    plain(node.description || node.summary),
    ...node.options
      .filter(({ long }) => long !== '--help')
      .flatMap(({ term, about }) => item(term, about)),
  ];
}

/** selvedge(1). */
export function programPage(root: CommandNode, version: string): string {
  const leaves = everyNode(root).filter(({ path, children }) => path.length > 0 && !children[0]);
  return [
    ...head('selvedge', 1, version, 'ERP synchronization daemon'),
    '.SH SYNOPSIS',
    '.B selvedge',
    '[\\fB\\-\\-config\\fR \\fIfile\\fR] \\fIcommand\\fR [\\fIargument\\fR ...]',
    '.SH DESCRIPTION',
    plain(root.description),
    '.SH OPTIONS',
    ...root.options.flatMap(({ term, about }) => item(term, about)),
    '.SH COMMANDS',
    ...leaves.flatMap(commandLines),
    '.SH EXIT STATUS',
    ...Object.values(EXIT).flatMap(({ code, meaning }) => item(String(code), meaning)),
    '.SH ENVIRONMENT',
    ...item('SELVEDGE_CONFIG', 'the configuration, where --config does not name it'),
    ...item('NO_COLOR', 'no colors, also on a terminal'),
    '.SH FILES',
    ...item('/etc/selvedge/selvedge.yaml', 'the configuration, where nothing else names it'),
    ...item('/var/lib/selvedge', 'the databases'),
    '.SH SEE ALSO',
    '.BR selvedge.yaml (5)',
    '',
  ].join('\n');
}

/** selvedge.yaml(5). */
export function configPage(settings: readonly Setting[], version: string): string {
  const lines = settings.flatMap(({ path, about, preset }) => {
    if (preset === undefined) return [`.SS ${plain(path)}`, plain(about)];
    return item(path, `${about} Default: ${preset === 'null' ? 'none' : preset}.`);
  });
  return [
    ...head('selvedge.yaml', 5, version, 'configuration of selvedge'),
    '.SH DESCRIPTION',
    plain(
      'YAML. Only what differs from the default is written. Durations and sizes have a unit ' +
        '(250ms, 30s, 15m, 2h, 7d; 256KiB, 64MiB, 2GB); relative paths start at the folder ' +
        'of the file. Secrets never stand in it, only where they are: { file: … }, ' +
        '{ credential: … } or { env: … }. "selvedge config check" finds every mistake at once.',
    ),
    '.SH SETTINGS',
    ...lines,
    '.SH SEE ALSO',
    '.BR selvedge (1)',
    '',
  ].join('\n');
}
