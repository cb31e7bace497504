/** Asks a daemon as the command line does: from another process. */
import { readFileSync } from 'node:fs';
import { localFile } from '../../src/local-api/ask.ts';

export async function askToPullStock(folder: string): Promise<void> {
  const { url, token } = JSON.parse(readFileSync(localFile(folder), 'utf8'));
  const asked = { actor: 'bench', reason: 'measured' };
  const given = { stream: 'stock', full: false };
  const post = (path: string, body: object) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...asked, ...body }),
    });
  const first = await post('/api/acts/sync.run', { given });
  // A commit of before acts were declared has an address for each.
  const answer = first.status === 404 ? await post('/api/sync/run', given) : first;
  if (!answer.ok) throw new Error(`cannot pull: ${await answer.text()}`);
}
