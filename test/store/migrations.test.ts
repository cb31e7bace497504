/** A database refuses to go on under a program whose migrations are not those that it ran. */
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { filesBelow } from '../support/source.ts';

/** The beginning of each one's SHA-256. */
const CHECKSUMS = {
  '0001-foundation.sql': 'e98a547c93228f77',
  '0002-pull.sql': 'dd94d8a91d044b6c',
  '0003-review.sql': '5eb1b1ec4eafb404',
  '0004-erp-customer.sql': 'a03870e2a40b2307',
  '0005-outbox.sql': '3986c4d8149fee00',
  '0006-sighting.sql': '3f1fa8a8cf62a42a',
  '0007-run-waits.sql': '90219abc5e57ebdc',
  '0008-reporting.sql': 'ae4876e8fd41db3a',
  '0009-holds.sql': 'cb445b66956d49db',
  '0010-intake.sql': '1e45ce9055e42e42',
  '0011-seen.sql': '59643e16e24585e1',
  '0012-event-again.sql': '1e9e8e56106e089b',
  '0013-outbox-due.sql': '0f819614511e7f02',
  '0014-stock-on-order.sql': 'f7e4e69251ac5c5c',
  '0015-stock-apart.sql': '39211a98e77e33f7',
  '0016-segment-bytes.sql': '40e53047bc192536',
  '0017-reference-letters.sql': '7fc2489f6f850b9b',
  '0018-quarantine-order.sql': 'fbbc7fb651ec9657',
  '0019-season-cover.sql': '73ec4ab13ff30951',
  '0020-refund-pending.sql': 'cb7f8c903b980639',
  '0021-report-numbers.sql': '042ea60e98f68b3f',
  '0022-empty-names.sql': '8d70ca03ee1bba9f',
  '0023-style-left.sql': 'deac000aa40a7725',
  '0024-shared-extra.sql': '58a7dd2315248ec0',
  '0025-announced.sql': '9a1d3c27db628d6b',
  '0026-guards.sql': 'b704132fa735646c',
  '0027-reference-spelling.sql': '7dae65e3df5201cf',
  '0028-exact-amounts.sql': 'e982f83a7bcdfc94',
  '0029-corrected.sql': 'a7c102e72c2645a4',
  '0030-unread.sql': '0e24bc35453b93e1',
  '0031-understood.sql': '954ba11308b76c58',
  '0032-reevaluation.sql': '6b104a1cb3d59dec',
  'exchange/0001-exchange.sql': 'ae260ef6f9bb2f51',
};

it('are never edited: what is to be otherwise is a new one, with its line here', () => {
  const found = filesBelow('migrations', ['.sql']).map(({ path, text }) => [
    path.slice('migrations/'.length),
    createHash('sha256').update(text).digest('hex').slice(0, 16),
  ]);
  expect(Object.fromEntries(found)).toEqual(CHECKSUMS);
});
