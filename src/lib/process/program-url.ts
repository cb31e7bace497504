import { extname } from 'node:path';

/** Finds a program that lies beside a module: `.ts` in a checkout, `.js` in the package. */
export function programUrl(module: string, name: string): URL {
  return new URL(`./${name}${extname(module)}`, module);
}

/**
 * Environment for a program of ours that gets all it needs as its request; the other variables may
 * hold secrets.
 */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const { TZ, LD_LIBRARY_PATH, NODE_COMPILE_CACHE } = process.env;
  return { TZ, LD_LIBRARY_PATH, NODE_COMPILE_CACHE };
}
