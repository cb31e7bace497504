// Starts a program as bin/selvedge.mjs does: with a young generation that does not grow, said
// before anything is loaded (as a flag of the command line V8 does not heed it).
import { setFlagsFromString } from 'node:v8';

setFlagsFromString('--semi-space-growth-factor=1');
setFlagsFromString('--min-semi-space-size=4');
const [program] = process.argv.splice(2, 1);
await import(program);
