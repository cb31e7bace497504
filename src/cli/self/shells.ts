/**
 * Writes completion scripts: for commands, options, their choices and names of the installation;
 * where none is known, for file names.
 */
import { quotedForShell as quoted } from '../../lib/strings.ts';
import type { Offer } from './offers.ts';
import { type CommandNode, everyNode, type OptionNode } from './tree.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** Options that every command takes; the scripts pass them on when they ask for names. */
const GLOBAL = new Set(['--config', '--url', '--token-file']);
const GLOBAL_TYPED = '-c | --config | --url | --token-file';

function key(node: CommandNode): string {
  return node.path.join(' ');
}

/** Options of a command, and those that every command takes. */
function optionsOf(node: CommandNode, root: CommandNode): readonly OptionNode[] {
  const global = root.options.filter(({ long }) => GLOBAL.has(long));
  return node === root ? node.options : [...node.options, ...global];
}

function words(node: CommandNode, root: CommandNode): string {
  const names = node.children.map(({ path }) => path.at(-1) ?? '');
  return [...names, ...node.words, ...optionsOf(node, root).map(({ long }) => long)].join(' ');
}

/** Arms of a shell's `case` that find the longest command in what was typed so far. */
function pathArms(root: CommandNode, indent: string): string {
  return everyNode(root)
    .filter(({ path }) => path.length > 0)
    .map((node) => `${indent}${quoted(key(node))}) found=${quoted(key(node))} ;;`)
    .join('\n');
}

function offerOf({ offer }: { readonly offer: Offer | undefined }): string {
  return offer === undefined ? '' : ` offer=${offer}`;
}

function choiceArms(root: CommandNode, indent: string): string {
  return everyNode(root)
    .flatMap((node) =>
      node.options
        .filter(({ choices, offer }) => choices.length > 0 || offer !== undefined)
        .map((option) => {
          const typed = quoted(`${key(node)} ${option.long}`);
          const given = quoted(option.choices.join(' '));
          return `${indent}${typed}) words=${given}${offerOf(option)} ;;`;
        }),
    )
    .join('\n');
}

function wordArms(root: CommandNode, indent: string): string {
  return everyNode(root)
    .map((node) => {
      const given = quoted(words(node, root));
      return `${indent}${quoted(key(node))}) words=${given}${offerOf(node)} ;;`;
    })
    .join('\n');
}

function bash(root: CommandNode): string {
  return `# bash completion of selvedge: selvedge completion bash > /etc/bash_completion.d/selvedge
_selvedge() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]}
  local found='' words='' offer='' index
  local -a typed passed=()
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
  if [[ -n $offer && $current != -* ]]; then
    # Not COMP_WORDS, which is cut at the colons of an address.
    read -ra typed <<< "\${COMP_LINE:0:\${COMP_POINT:-0}}"
    for ((index = 1; index + 1 < \${#typed[@]}; index++)); do
      case "\${typed[index]}" in
        ${GLOBAL_TYPED}) passed+=("\${typed[index]}" "\${typed[index + 1]}") ;;
      esac
    done
    words="$words $("\${COMP_WORDS[0]}" "\${passed[@]}" completion names "$offer" 2> /dev/null)"
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _selvedge selvedge
`;
}

function zsh(root: CommandNode): string {
  return `#compdef selvedge
# zsh completion of selvedge: selvedge completion zsh > "\${fpath[1]}/_selvedge"
_selvedge() {
  local found='' words_of='' offer='' typed index
  local -a words_list passed
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
  if [[ -n $offer && $words[CURRENT] != -* ]]; then
    for ((index = 2; index < CURRENT; index++)); do
      case "\${words[index]}" in
        ${GLOBAL_TYPED}) passed+=("\${words[index]}" "\${(Q)words[index + 1]}") ;;
      esac
    done
    words_of="$words_of $("\${(Q)words[1]}" $passed completion names $offer 2> /dev/null)"
  fi
  words_list=(\${=words_of})
  compadd -a words_list || _files
}
compdef _selvedge selvedge
`;
}

const FISH_ASK = '__selvedge_names';

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
    const asked = node.offer === undefined ? [] : [`${when} -f -a '(${FISH_ASK} ${node.offer})'`];
    const options = optionsOf(node, root).map(
      ({ long, short, about, choices, offer, takesValue }) =>
        [
          `${when} -l ${long.replace(/^--/, '')}`,
          ...(short === undefined ? [] : [`-s ${short.replace('-', '')}`]),
          ...(takesValue ? ['-r'] : []),
          ...(choices.length > 0 ? [`-f -a ${quoted(choices.join(' '))}`] : []),
          ...(offer === undefined ? [] : [`-f -a '(${FISH_ASK} ${offer})'`]),
          `-d ${quoted(about)}`,
        ].join(' '),
    );
    return [...children, ...given, ...asked, ...options];
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
function ${FISH_ASK}
  set -l typed (commandline -opc)
  set -l passed
  for index in (seq 2 (math (count $typed) - 1))
    switch $typed[$index]
      case -c --config --url --token-file
        set passed $passed $typed[$index] $typed[(math $index + 1)]
    end
  end
  $typed[1] $passed completion names $argv[1] 2> /dev/null
end
${lines.join('\n')}
`;
}

const SCRIPTS: Readonly<Record<Shell, (root: CommandNode) => string>> = { bash, zsh, fish };

export function completionScript(shell: Shell, root: CommandNode): string {
  return SCRIPTS[shell](root);
}
