/** Hashes and checks passwords; the configuration has them as `scrypt:<cost>:<salt>:<hash>`. */
import { scrypt, timingSafeEqual } from 'node:crypto';
import type { Random } from '../../lib/random.ts';

/** Cost parameter N of scrypt; with blocks of 8, a check takes 32 MiB and some 80 ms. */
const COST = 32_768;
const BLOCK = 8;
const BYTES = 32;
const SALT_BYTES = 16;

const PASSWORD_HASH = /^scrypt:(\d{4,7}):([\w-]{22}):([\w-]{43})$/;

function derive(password: string, salt: Buffer, cost: number): Promise<Buffer> {
  const options = { N: cost, r: BLOCK, p: 1, maxmem: 256 * cost * BLOCK };
  // Keyboards may encode one letter in two ways, which NFKC makes the same.
  const text = password.normalize('NFKC');
  return new Promise((resolve, reject) => {
    scrypt(text, salt, BYTES, options, (error, key) => (error ? reject(error) : resolve(key)));
  });
}

export async function hashPassword(password: string, random: Random): Promise<string> {
  const salt = random.bytes(SALT_BYTES);
  const key = await derive(password, salt, COST);
  return `scrypt:${COST}:${salt.toString('base64url')}:${key.toString('base64url')}`;
}

/**
 * Checks a password. Takes as long for an unknown name (`hash` undefined) as for a wrong password,
 * so that names cannot be guessed.
 */
export async function isPassword(password: string, hash: string | undefined): Promise<boolean> {
  const [, cost = String(COST), salt = 'A'.repeat(22), key = 'A'.repeat(43)] =
    PASSWORD_HASH.exec(hash ?? '') ?? [];
  const found = await derive(password, Buffer.from(salt, 'base64url'), Number(cost));
  return timingSafeEqual(found, Buffer.from(key, 'base64url')) && hash !== undefined;
}
