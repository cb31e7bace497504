import { extname } from 'node:path';

/** A program that lies beside a module: `.ts` in a checkout, `.js` in the package. */
export function programUrl(module: string, name: string): URL {
  return new URL(`./${name}${extname(module)}`, module);
}

/** Environment of a program of ours that is given all it needs: secrets may stand in the rest. */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const { TZ, LD_LIBRARY_PATH, NODE_COMPILE_CACHE } = process.env;
  return { TZ, LD_LIBRARY_PATH, NODE_COMPILE_CACHE };
}
