/**
 * Strict mode lists as a mistake of the client: what the contract does not name (refused here),
 * and whatever a route refuses with a status that only a wrong request gets. 401, 404 of a named
 * path and 409 are none of these: tokens expire and orders change at any moment.
 */
import { needsBrand } from '../dialect/levels.ts';
import { type EdgeAnswer, errorAnswer } from './answers.ts';
import { contractBreaches, requestName } from './contract.ts';
import { unknownMembers } from './contract-bodies.ts';
import type { JournalEntry } from './journal.ts';

/** Statuses that only a wrong request gets. */
const MISTAKE_STATUSES = new Set([400, 403, 405, 406, 410, 413, 414, 415, 422, 429]);

const ONE_VARIANT = /^\/api\/v1\/variants\/[^/]+$/;

/** The refusal of a request that the contract does not have. */
export function judgeRequest(entry: JournalEntry, level: string): EdgeAnswer | undefined {
  const { method, path, query } = entry;
  // Accounts of old levels demand the brand of a single variant as well.
  const also = needsBrand(level) && ONE_VARIANT.test(path) ? ['brandName'] : [];
  const { endpoint, parameters } = contractBreaches(method, path, query, also);
  entry.mistakes.push(...endpoint, ...parameters);
  if (endpoint.length > 0) return errorAnswer(path, 404, 'There is no such endpoint');
  const status = path.startsWith('/api/v2') ? 400 : 422;
  return parameters.length > 0 ? errorAnswer(path, status, parameters.join('; ')) : undefined;
}

/** The refusal of a body with members that the contract does not have. */
export function judgeBody(entry: JournalEntry, body: unknown): EdgeAnswer | undefined {
  const unknown = unknownMembers(requestName(entry.method, entry.path), body);
  if (unknown.length === 0) return undefined;
  const lines = unknown.map((member) => `${member}: no such member of the body`);
  entry.mistakes.push(...lines);
  return errorAnswer(entry.path, 422, lines.join('; '));
}

/** Lists what a route refused. */
export function judgeStatus(entry: JournalEntry, status: number): void {
  if (entry.mistakes.length === 0 && MISTAKE_STATUSES.has(status)) {
    entry.mistakes.push(`refused with ${status}`);
  }
}
