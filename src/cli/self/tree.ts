/** The command tree as data, from which completion and the manual are made. */
import type { Command, Option } from 'commander';
import { thingOf } from '../things.ts';
import type { Offer } from './offers.ts';

export interface OptionNode {
  readonly long: string;
  readonly short: string | undefined;
  /** Option as the help shows it: `--format <format>`. */
  readonly term: string;
  readonly about: string;
  readonly choices: readonly string[];
  /** Kind of the installation's names that the option takes as a value. */
  readonly offer: Offer | undefined;
  readonly takesValue: boolean;
}

export interface CommandNode {
  /** Words of the command without the program's name: `['config', 'check']`. */
  readonly path: readonly string[];
  readonly summary: string;
  readonly description: string;
  /** Arguments of the command as the help shows them: `<name> [options]`. */
  readonly usage: string;
  /** Choices of the command's arguments, if they are known. */
  readonly words: readonly string[];
  /** Kind of the installation's names that the command's arguments take. */
  readonly offer: Offer | undefined;
  readonly options: readonly OptionNode[];
  readonly children: readonly CommandNode[];
}

/** Names offered for the thing that a declared act or list is about. */
const OFFERED: Readonly<Record<string, Offer>> = {
  delivery: 'deliveries',
  push: 'outbox',
  report: 'reports',
  rule: 'rules',
  run: 'streams',
  stream: 'streams',
};

/** Names offered by commands that are made by hand. */
const ARGUMENTS: Readonly<Record<string, Offer>> = {
  'deliveries show': 'deliveries',
  'deliveries explain': 'deliveries',
  'rules facts': 'deliveries',
  'rules matches': 'rules',
  'outbox show': 'outbox',
  'outbox resolve': 'outbox',
  'sync show': 'streams',
  pause: 'streams',
  resume: 'streams',
  'report run': 'reports',
};

const OPTIONS: Readonly<Record<string, Offer>> = { '--rule': 'rules' };

/** Finds the program that a command belongs to. */
export function programOf(command: Command): Command {
  return command.parent === null ? command : programOf(command.parent);
}

function optionNode(option: Option, about: string): OptionNode {
  return {
    long: option.long ?? option.flags,
    short: option.short,
    term: option.flags,
    about,
    choices: option.argChoices ?? [],
    offer: OPTIONS[option.long ?? ''],
    takesValue: option.required || option.optional,
  };
}

export function commandTree(command: Command, path: readonly string[] = []): CommandNode {
  const help = command.createHelp();
  return {
    path,
    summary: command.summary() || command.description().split('\n').join(' '),
    description: command.description(),
    usage: command.usage(),
    words: command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
    offer: ARGUMENTS[path.join(' ')] ?? OFFERED[thingOf(command) ?? ''],
    options: help
      .visibleOptions(command)
      .map((option) => optionNode(option, help.optionDescription(option))),
    children: help
      .visibleCommands(command)
      .filter((child) => child.name() !== 'help')
      .map((child) => commandTree(child, [...path, child.name()])),
  };
}

/** Lists a command and everything below it, parents first. */
export function everyNode(node: CommandNode): CommandNode[] {
  return [node, ...node.children.flatMap(everyNode)];
}
