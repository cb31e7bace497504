/** The same world through each dialect of the reference: everything reads the same. */
import { describe, it } from 'vitest';
import { expectSameWorld, expectTooFast, expectWritable, worldOf } from './other-dialects.ts';

describe('an account that speaks otherwise', () => {
  it.each<Record<string, unknown>>([
    { charset: 'iso-8859-1' },
    { charset: 'windows-1252' },
    { contentEncoding: 'gzip' },
    { contentEncoding: 'br' },
    { contentEncoding: 'utf8' },
    { contentEncoding: 'empty' },
    { contentEncoding: 'identity' },
    { envelope: 'text' },
    { envelope: 'none' },
    { lists: 'indexed' },
    { lists: 'indexed', envelope: 'none' },
    { emptyList: 'object' },
    { emptyList: 'null' },
    { emptyList: 'absent' },
    { emptyList: 'notFound' },
    { emptyList: 'noContent' },
    { emptyList: 'notFound', envelope: 'none' },
    { charset: 'windows-1252', contentEncoding: 'gzip', envelope: 'text', lists: 'indexed' },
  ])('tells the same: %j', (dialect) => expectSameWorld(dialect, worldOf({})));

  it.each<Record<string, unknown>>([
    { envelope: 'text' },
    { envelope: 'none' },
    { charset: 'iso-8859-1', contentEncoding: 'gzip' },
    { errorData: 'array' },
  ])('is written to, and its answers are clear: %j', expectWritable);

  it.each<Record<string, unknown>>([
    { errorBody: 'plain' },
    { errorBody: 'html' },
    { errorBody: 'empty' },
    { retryAfter: 'date' },
    { retryAfter: 'none' },
  ])('is asked again when it was asked too fast, whatever that is said with: %j', expectTooFast);
});
