/** Findings about accounts that answer otherwise: each with what it is seen on. */
import { describe, expect, it } from 'vitest';
import { answerJson, envelope, startFaulty } from '../client/support.ts';
import { placeOrders } from '../e2e/support.ts';
import { accountOf, probed, setting, settingsFor, startAccount } from './support.ts';

describe('the probe of an account', () => {
  it('finds nothing to set for the reference, and only reads it', async () => {
    const reference = await startAccount();
    const { set, findings } = await probed(accountOf(reference));
    expect(set).toEqual({});
    expect(findings).toContainEqual(
      expect.objectContaining({ setting: 'service.dialect.v1.level', value: '1.4.14' }),
    );
    const writes = reference.edge.journal.list().filter(({ method }) => method !== 'GET');
    expect([...new Set(writes.map(({ path }) => path))]).toEqual([
      '/api/v1/auth/login',
      '/api/v2/auth/login',
    ]);
  });

  it.each([
    ['1.4.12', {}],
    ['1.4.12', { unknownParameters: 'refuse' }],
    ['1.4.9', {}],
    ['1.4.1', { unknownParameters: 'refuse', emptyList: 'notFound' }],
  ])('names the level %s of an account with %o', async (level, dialect) => {
    expect(await settingsFor({ v1: { level }, dialect })).toEqual({
      'service.dialect.v1.level': level,
    });
  });

  it('reads an account from before the lists of stock', async () => {
    const set = await settingsFor({ v1: { level: '1.3.3' } });
    expect(set).toEqual({ 'service.dialect.v1.level': '1.3.3' });
  });

  it.each([
    [{ deviations: { tokenHeader: 'x-access-token' } }, 'x-access-token', 'plain'],
    [
      { deviations: { tokenHeader: 'authorization' }, dialect: { bearer: true } },
      'Authorization',
      'bearer',
    ],
    [{ dialect: { bearer: true } }, 'X-Service-Authorization', 'bearer'],
  ])('finds the header and the scheme of %o', async (knobs, header, scheme) => {
    const { findings } = await probed(accountOf(await startAccount(knobs)));
    for (const version of ['v1', 'v2']) {
      const of = (name: string) =>
        findings.findLast((one) => one.setting === `service.dialect.${version}.${name}`);
      expect(of('tokenHeader')).toMatchObject({ value: header });
      expect(of('tokenScheme')).toMatchObject({ value: scheme });
      expect(of('tokenScheme')?.seen).toMatch(/401 without, 200 with it, on GET \//);
    }
  });

  it.each(['envelope', 'empty'])(
    'sees that lists want a brand, errors being %s',
    async (errorBody) => {
      const set = await settingsFor({ dialect: { brandRequired: true, errorBody } });
      expect(set).toEqual({ 'service.dialect.v1.perBrand': 'always' });
    },
  );

  it('sees that a list without a limit is a page only, and how long one may be', async () => {
    const set = await settingsFor({ paging: { variantsDefault: 60 } });
    expect(set).toEqual({ 'service.dialect.v1.paging': 'pages' });
  });

  it('matches names of details, words of statuses and the spelling of freight', async () => {
    const reference = await startAccount({
      world: { orders: 60 },
      dialect: {
        detailNames: { styleNo: 'style_nr', brandName: 'brand', customsTariffNumber: 'tariffNo' },
        statusNames: { accepted: 'Approved' },
        freightSpelling: 'Freight',
      },
    });
    const { set, findings } = await probed(accountOf(reference));
    expect(set).toEqual({
      'service.dialect.v1.members': [
        { of: 'details', ours: 'styleNo', theirs: 'style_nr' },
        { of: 'details', ours: 'brandName', theirs: 'brand' },
        { of: 'details', ours: 'customsTariffNumber', theirs: 'tariffNo' },
      ],
      'service.dialect.v1.statuses': [{ of: 'delivery', says: 'Approved', means: 'accepted' }],
      'service.dialect.v1.freightSpelling': 'Freight',
    });
    const statuses = findings.find((one) => one.setting === 'service.dialect.v1.statuses');
    expect(statuses?.seen).toMatch(/"Approved" on order \d+/);
    expect(statuses?.doubt).toContain('look whether it means that');
  });

  it('guesses no meaning for a word that may mean anything', async () => {
    const reference = await startAccount({
      world: { orders: 60 },
      dialect: { statusNames: { accepted: 'in_progress' } },
    });
    const { set, findings } = await probed(accountOf(reference));
    expect(set).toEqual({});
    const off = findings.find(({ isOff }) => isOff);
    expect(off).toMatchObject({ setting: 'service.dialect.v1.statuses' });
    expect(off?.doubt).toContain('the delivery status "in_progress" is not known');
  });

  it('tells the zone of fresh orders that name none, and doubts that of old ones', async () => {
    const reference = await startAccount({
      dialect: {
        ...{ times: 'local', timeZone: 'Asia/Tokyo', timeFormat: 'sql', currency: 'JPY' },
        orderCurrency: false,
      },
    });
    const old = await probed(accountOf(reference));
    expect(old.set).toEqual({ 'service.dialect.v1.currency': 'JPY' });
    const off = old.findings.find(({ isOff }) => isOff);
    expect(off).toMatchObject({ setting: 'service.dialect.v1.timeZone', value: 'Asia/Tokyo' });
    expect(off?.doubt).toContain('no 3 orders are fresh enough');
    placeOrders(reference, 4);
    const { set, findings } = await probed(accountOf(reference));
    expect(set).toMatchObject({ 'service.dialect.v1.timeZone': 'Asia/Tokyo' });
    const zone = findings.find((one) => one.setting === 'service.dialect.v1.timeZone');
    expect(zone?.doubt).toContain('+09:00 now');
  });

  it('finds the log-in and the token of V2 where they are otherwise', async () => {
    const set = await settingsFor({
      deviations: { v2TokenFlat: true, pageTokenMissing: true },
    });
    expect(set).toEqual({ 'service.dialect.v2.paging': 'links' });
  });

  it('takes what comes without an envelope, as text, or as a map, for what it is', async () => {
    const dialect = { envelope: 'none', numbers: 'text', ids: 'text', lists: 'indexed' };
    expect(await settingsFor({ dialect })).toEqual({ 'service.dialect.v1.tokenPointer': '/token' });
  });

  it('keeps to the pace of an account, and says which it is', async () => {
    const reference = await startAccount({ rates: { perSecond: 8 } });
    const { set } = await probed(accountOf(reference));
    const pace = set['service.limits.requestsPerSecond'];
    expect(pace).toBeGreaterThanOrEqual(5);
    expect(pace).toBeLessThanOrEqual(9);
  });

  it('finds the interface below an address without its path', async () => {
    const reference = await startAccount();
    const account = accountOf(reference);
    const v1 = account.v1.replace('/api/v1', '');
    const { set } = await probed({ ...account, v1 });
    expect(set).toEqual({ 'service.v1.baseUrl': account.v1 });
  });

  it('tries the secret as a key where no log-in exists', async () => {
    await using service = await startFaulty((request, response) => {
      const path = request.url ?? '';
      if (request.headers['x-api-key'] === 'a-static-key' && path === '/brands') {
        answerJson(response, 200, envelope(200, { count: 0, brands: [] }));
      } else if (path === '/brands') answerJson(response, 401, envelope(401, {}));
      else answerJson(response, 404, envelope(404, {}, 'nothing there'));
    });
    const account = { v1: service.url, clientId: 'erp', clientSecret: 'a-static-key' };
    const { set, findings } = await probed(account);
    expect(set).toMatchObject({
      'service.v1.apiKey': true,
      'service.dialect.v1.tokenHeader': 'X-Api-Key',
    });
    expect(findings).toContainEqual(expect.objectContaining({ value: 'no seasons' }));
    expect(service.seen.filter((one) => !/^GET |auth\/login/.test(one))).toEqual([]);
  });

  it('says of a wrong secret that it is wrong, and asks no further', async () => {
    const reference = await startAccount();
    const wrong = { ...accountOf(reference), clientSecret: 'not-the-secret' };
    const error = await probed(wrong).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'session.login_refused',
      hint: expect.stringContaining('check the client id and the client secret'),
    });
    expect(String(error)).not.toContain('not-the-secret');
  });

  it('names the setting where no header opens a list', async () => {
    const reference = await startAccount({ deviations: { tokenHeader: 'x-very-own' } });
    const account = accountOf(reference);
    const hidden = { source: 'nowhere', document: { paths: {} } };
    const unknown = probed(account, [], { description: hidden });
    await expect(unknown).rejects.toMatchObject({
      code: 'probe.no_header',
      hint: expect.stringContaining('service.dialect.v1.tokenHeader'),
    });
    // Its own description says it.
    expect((await probed(account)).set).toMatchObject({
      'service.dialect.v1.tokenHeader': 'x-very-own',
    });
    const own = [setting('service.dialect.v1.tokenHeader', 'x-very-own')];
    await expect(probed(account, own, { description: hidden })).resolves.toBeDefined();
  });
});
