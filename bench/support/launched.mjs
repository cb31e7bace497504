// Starts a program as bin/selvedge.mjs does: heap and compiled code as there, said before anything
// is loaded (as flags of the command line V8 does not heed them).
import nodeModule from 'node:module';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';

setFlagsFromString('--semi-space-growth-factor=1');
setFlagsFromString('--min-semi-space-size=4');
setFlagsFromString('--no-parallel-scavenge');
nodeModule.enableCompileCache(join(import.meta.dirname, '../../node_modules/.cache/selvedge'));
const [program] = process.argv.splice(2, 1);
await import(program);
