/** Completion scripts: commands, options and their choices; where nothing is known, file names. */
import { type CommandNode, everyNode, type OptionNode } from './tree.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function key(node: CommandNode): string {
  return node.path.join(' ');
}

/** Options of the node, and those that every command takes. */
function optionsOf(node: CommandNode, root: CommandNode): readonly OptionNode[] {
  const global = root.options.filter(({ long }) => long === '--config');
  return node === root ? node.options : [...node.options, ...global];
}

function words(node: CommandNode, root: CommandNode): string {
  const names = node.children.map(({ path }) => path.at(-1) ?? '');
  return [...names, ...node.words, ...optionsOf(node, root).map(({ long }) => long)].join(' ');
}

/** `case` arms: what was typed so far to the longest command in it. */
function pathArms(root: CommandNode, indent: string): string {
  return everyNode(root)
    .filter(({ path }) => path.length > 0)
    .map((node) => `${indent}${quoted(key(node))}) found=${quoted(key(node))} ;;`)
    .join('\n');
}

function choiceArms(root: CommandNode, indent: string): string {
  return everyNode(root)
    .flatMap((node) =>
      node.options
        .filter(({ choices }) => choices.length > 0)
        .map(({ long, choices }) => {
          const typed = quoted(`${key(node)} ${long}`);
          return `${indent}${typed}) words=${quoted(choices.join(' '))} ;;`;
        }),
    )
    .join('\n');
}

function wordArms(root: CommandNode, indent: string): string {
  return everyNode(root)
    .map((node) => `${indent}${quoted(key(node))}) words=${quoted(words(node, root))} ;;`)
    .join('\n');
}

function bash(root: CommandNode): string {
  return `# bash completion of selvedge: selvedge completion bash > /etc/bash_completion.d/selvedge
_selvedge() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]}
  local found='' words='' index
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "\${found:+$found }\${COMP_WORDS[index]}" in
${pathArms(root, '      ')}
    esac
  done
  case "$found $before" in
${choiceArms(root, '    ')}
    *)
      case "$found" in
${wordArms(root, '        ')}
      esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _selvedge selvedge
`;
}

function zsh(root: CommandNode): string {
  return `#compdef selvedge
# zsh completion of selvedge: selvedge completion zsh > "\${fpath[1]}/_selvedge"
_selvedge() {
  local found='' words_of='' typed index
  local -a words_list
  for ((index = 2; index < CURRENT; index++)); do
    typed="\${found:+$found }\${words[index]}"
    case "$typed" in
${pathArms(root, '      ')}
    esac
  done
  case "$found \${words[CURRENT-1]}" in
${choiceArms(root, '    ').replaceAll(' words=', ' words_of=')}
    *)
      case "$found" in
${wordArms(root, '        ').replaceAll(' words=', ' words_of=')}
      esac ;;
  esac
  words_list=(\${=words_of})
  compadd -a words_list || _files
}
compdef _selvedge selvedge
`;
}

function fish(root: CommandNode): string {
  const nodes = everyNode(root);
  const arms = nodes
    .filter(({ path }) => path.length > 0)
    .map((node) => `      case ${quoted(key(node))}\n        set found ${quoted(key(node))}`)
    .join('\n');
  const lines = nodes.flatMap((node) => {
    const when = `complete -c selvedge -n ${quoted(`__selvedge_at ${quoted(key(node))}`)}`;
    const children = node.children.map(
      (child) => `${when} -f -a ${quoted(child.path.at(-1) ?? '')} -d ${quoted(child.summary)}`,
    );
    const given = node.words.map((word) => `${when} -f -a ${quoted(word)}`);
    const options = optionsOf(node, root).map(({ long, short, about, choices, takesValue }) =>
      [
        `${when} -l ${long.replace(/^--/, '')}`,
        ...(short === undefined ? [] : [`-s ${short.replace('-', '')}`]),
        ...(takesValue ? ['-r'] : []),
        ...(choices.length > 0 ? [`-f -a ${quoted(choices.join(' '))}`] : []),
        `-d ${quoted(about)}`,
      ].join(' '),
    );
    return [...children, ...given, ...options];
  });
  return `# fish completion of selvedge:
#   selvedge completion fish > ~/.config/fish/completions/selvedge.fish
function __selvedge_at
  set -l found ''
  for word in (commandline -opc)[2..-1]
    switch (string trim "$found $word")
${arms}
    end
  end
  test "$found" = "$argv[1]"
end
${lines.join('\n')}
`;
}

const SCRIPTS: Readonly<Record<Shell, (root: CommandNode) => string>> = { bash, zsh, fish };

export function completionScript(shell: Shell, root: CommandNode): string {
  return SCRIPTS[shell](root);
}
