/** Kinds of things that commands made from declarations are about, for completion. */
import type { Command } from 'commander';
import type { Thing } from '../surface/members.ts';

const things = new WeakMap<Command, Thing>();

export function markThing(command: Command, thing: Thing | undefined): void {
  if (thing !== undefined) things.set(command, thing);
}

export function thingOf(command: Command): Thing | undefined {
  return things.get(command);
}
