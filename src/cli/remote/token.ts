/**
 * Reads the token of a console from a file, because arguments are seen by every user of the
 * machine.
 */
import { resolve } from 'node:path';
import { readSecret } from '../../config/source/secrets.ts';
import { TOKEN_PREFIX } from '../../console/access/sessions.ts';
import { UsageError } from '../../lib/errors.ts';
import type { CliContext } from '../command.ts';

/**
 * Matches the content of a token file: the token alone, or the header that `curl -H @file` takes.
 */
const TOKEN = new RegExp(`^(?:Authorization: Bearer )?(${TOKEN_PREFIX}[\\w-]{20,100})$`, 'i');

const HOW = 'on the host of the daemon: selvedge console token <name> --role operator';

/** Reads the token, and has it removed from all output from now on. */
export function readToken({ env, scrubber }: CliContext, given: string | undefined): string {
  const named = given ?? env.SELVEDGE_TOKEN_FILE;
  if (named === undefined || named === '') {
    throw new UsageError('remote.no_token', 'a console wants a token, and none is named', {
      hint: `--token-file <file>, or SELVEDGE_TOKEN_FILE; ${HOW}`,
    });
  }
  const file = resolve(named);
  const read = readSecret({ kind: 'file', file }, env, () => file);
  if ('problem' in read) {
    throw new UsageError('remote.token_file', read.problem, { hint: read.hint });
  }
  const token = TOKEN.exec(read.value.trim())?.[1];
  if (token === undefined) {
    const message = `the file ${file} does not hold the token of a console, and nothing else`;
    throw new UsageError('remote.token_file', message, { hint: HOW });
  }
  scrubber.register(token, 'token of the console');
  return token;
}
