/** The configuration of a command's call. */
import type { Command } from 'commander';
import { findConfigFile } from '../config/find.ts';
import { type LoadedConfig, requireConfig } from '../config/load.ts';
import type { CliContext } from './command.ts';

/** The configuration file of this call, by `--config`, the environment or the system's place. */
export function configFileOf(command: Command, context: CliContext): string {
  const { config } = command.optsWithGlobals<{ config?: string }>();
  return findConfigFile(config, context.env);
}

/**
 * The configuration of this call; a ConfigError that lists every mistake when it is wrong. Most
 * commands never need a secret, and outside of the service none of its credentials is there.
 */
export function configOf(
  command: Command,
  context: CliContext,
  absent: 'none' | 'any' = 'any',
): LoadedConfig {
  const { env, scrubber } = context;
  return requireConfig({ file: configFileOf(command, context), env, scrubber, absent });
}
