/**
 * PGlite whose compiled code lives as long as the process: V8 may end a process that frees the code
 * of one such module while it makes that of another (nodejs/node#64500).
 */
import { readFile } from 'node:fs/promises';
import { PGlite } from '@electric-sql/pglite';

/** Node has it, and its types do not. */
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<WebAssembly.Module> };

async function compiled(name: string): Promise<WebAssembly.Module> {
  const url = new URL(name, import.meta.resolve('@electric-sql/pglite'));
  return WebAssembly.compile(await readFile(url));
}

const compiledOnce = () => Promise.all([compiled('pglite.wasm'), compiled('initdb.wasm')]);
let modules: ReturnType<typeof compiledOnce> | undefined;

export async function startPglite(): Promise<PGlite> {
  modules ??= compiledOnce();
  const [pgliteWasmModule, initdbWasmModule] = await modules;
  return PGlite.create({ pgliteWasmModule, initdbWasmModule });
}
