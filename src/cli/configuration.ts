/** Finds and loads the configuration that a command works with. */
import type { Command } from 'commander';
import { findConfigFile } from '../config/find.ts';
import { type LoadedConfig, requireConfig } from '../config/load.ts';
import type { CliContext } from './command.ts';

/** Finds the configuration file by `--config`, the environment or the system's place. */
export function configFileOf(command: Command, context: CliContext): string {
  const { config } = command.optsWithGlobals<{ config?: string }>();
  return findConfigFile(config, context.env);
}

/**
 * Loads the configuration for a command; throws a ConfigError that lists every mistake. Secrets may
 * be absent: most commands need none, and the service's credentials are only there for the service.
 */
export function configOf(
  command: Command,
  context: CliContext,
  absent: 'none' | 'any' = 'any',
): LoadedConfig {
  const { env, scrubber } = context;
  return requireConfig({ file: configFileOf(command, context), env, scrubber, absent });
}
