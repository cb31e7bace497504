/** Asks a daemon as the command line does: from another process. */
import { readFileSync } from 'node:fs';
import { localFile } from '../../src/local-api/ask.ts';

export async function askToPullStock(folder: string): Promise<void> {
  const { url, token } = JSON.parse(readFileSync(localFile(folder), 'utf8'));
  const answer = await fetch(`${url}/api/sync/run`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ stream: 'stock', full: false, actor: 'bench', reason: 'measured' }),
  });
  if (!answer.ok) throw new Error(`cannot pull: ${await answer.text()}`);
}
