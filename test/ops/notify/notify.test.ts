import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../../src/lib/secret.ts';
import type { Channel } from '../../../src/ops/notify/digest.ts';
import { createNotifier } from '../../../src/ops/notify/notifier.ts';
import { openStore } from '../../../src/store/store.ts';
import { CERTIFICATE, KEY } from '../../fixtures/certificate.ts';
import { startHookListener } from '../../support/hook-listener.ts';
import { startMailSink } from '../../support/mail-sink.ts';
import { temporaryFolder } from '../../support/store.ts';
import {
  disarm,
  doubt,
  EVERYTHING,
  endRun,
  holdDeliveries,
  MINUTE,
  SECRET,
  startTelling,
  webhookTo,
} from './support.ts';

const HOUR = 60 * MINUTE;

const mailTo = (port: number, more: object = {}) => ({
  name: 'mail',
  on: EVERYTHING,
  to: {
    smtp: {
      ...{ host: '127.0.0.1', port, tls: 'none', from: 'selvedge@example.com' },
      to: ['orders@example.com', 'stock@example.com'],
      ...more,
    },
  },
});

describe('an event that a channel named once and names again', () => {
  it('is told from then on, without what happened meanwhile', async () => {
    const hook = await startHookListener(SECRET);
    const told = await startTelling([webhookTo(hook.url)]);
    const { deps, store, clock } = told;
    const runWith = async (on: Channel['on']) => {
      const stop = new AbortController();
      const to = { webhook: { url: hook.url, secret: new Secret('hook', SECRET) } };
      const channel = { name: 'office', on, to, digestMs: MINUTE, quiet: null };
      const running = createNotifier(deps, [channel]).run(stop.signal);
      await clock.advance(5 * MINUTE);
      stop.abort();
      await running;
    };
    await runWith(['disarmed']);
    await holdDeliveries(told);
    await clock.advance(30 * 24 * HOUR);
    await runWith(['disarmed', 'held']);
    expect(hook.calls).toEqual([]);
    const marks = store.db.selectFrom('notification_told').select('until');
    const [held] = await marks.where('event', '=', 'held').execute();
    expect(held?.until).toBeGreaterThan(clock.now() - HOUR);
  });
});

describe('a notification', () => {
  it('of each kind reaches a listener and a mail server', async () => {
    const hook = await startHookListener(SECRET);
    const sink = await startMailSink();
    const login = { user: 'selvedge', password: new Secret('mail', 'canary-mail-password') };
    const told = await startTelling([webhookTo(hook.url), mailTo(sink.port, login)]);
    await told.clock.advance(MINUTE);
    await holdDeliveries(told);
    await holdDeliveries(told, { rule: 'late', first: 600_000 });
    await sql`update hold set lapsed_at = ${told.clock.now()} where rule_id = 'late'`.execute(
      told.store.db,
    );
    await doubt(told, 'A-1');
    await endRun(told, 'suspicious');
    await disarm(told, 'reject-late');
    await told.later(16 * MINUTE);
    expect(hook.heard).toHaveLength(1);
    const causes = hook.heard[0]?.data.causes ?? [];
    expect(causes.map(({ event, cause, count }) => `${event} ${cause} ${count}`)).toEqual([
      'held large 1',
      'held late 1',
      'overdue late 1',
      'unknown_outcome looked_up 1',
      'suspicious_run stock 1',
      'disarmed reject-late 1',
    ]);
    expect(hook.heard[0]?.type).toBe('selvedge.notification');
    expect(hook.heard[0]?.data.text).toContain(
      [
        '1 delivery held by the rule large',
        '  500000, since 2026-01-05 10:01',
        '  selvedge deliveries list --waiting',
      ].join('\n'),
    );
    expect(sink.mails).toHaveLength(1);
    const [mail] = sink.mails;
    expect(mail).toMatchObject({
      from: 'selvedge@example.com',
      to: ['orders@example.com', 'stock@example.com'],
    });
    expect(mail?.data).toContain('the rule reject-late is not armed any more');
    expect(mail?.data).toMatch(/^Subject: \[selvedge main\] 2 held, 1 overdue, 1 of unknown/m);
    expect(sink.logins).toEqual(['\0selvedge\0canary-mail-password']);
    const audit = await told.store.db.selectFrom('audit').selectAll().orderBy('subject').execute();
    expect(audit.map(({ actor, action, subject }) => [actor, action, subject])).toEqual([
      ['daemon', 'notify.send', 'channel:mail'],
      ['daemon', 'notify.send', 'channel:office'],
    ]);
    await told.later(HOUR);
    expect(hook.heard).toHaveLength(1);
  });

  it('of a thousand holds is one, with their number and the oldest three', async () => {
    const hook = await startHookListener(SECRET);
    const told = await startTelling([webhookTo(hook.url)]);
    for (let nth = 0; nth < 10; nth += 1) {
      await holdDeliveries(told, { first: 500_000 + nth * 100, count: 100 });
      await told.later(MINUTE);
    }
    expect(hook.heard).toHaveLength(0);
    await told.later(6 * MINUTE);
    await told.later(30 * MINUTE);
    const [one, ...others] = hook.heard;
    expect(others).toEqual([]);
    expect(one?.data.causes).toMatchObject([{ event: 'held', cause: 'large', count: 1_000 }]);
    expect(one?.data.causes[0]?.oldest.map(({ id }) => id)).toEqual([500_000, 500_001, 500_002]);
    expect(one?.data.subject).toBe('[selvedge main] 1000 held');
  });

  it('says nothing of what has ended before its digest has', async () => {
    const hook = await startHookListener(SECRET);
    const told = await startTelling([webhookTo(hook.url)]);
    await holdDeliveries(told);
    await doubt(told, 'A-1');
    await endRun(told, 'suspicious');
    await told.later(10 * MINUTE);
    await told.store.db.deleteFrom('hold').execute();
    await sql`update outbox set state = 'confirmed', ended_at = 1`.execute(told.store.db);
    await endRun(told, 'complete');
    await told.later(HOUR);
    expect(hook.calls).toEqual([]);
  });

  it('tells a stream that stays suspicious once', async () => {
    const hook = await startHookListener(SECRET);
    const told = await startTelling([webhookTo(hook.url)]);
    for (let nth = 0; nth < 8; nth += 1) {
      await endRun(told, 'suspicious');
      await told.later(15 * MINUTE);
    }
    expect(hook.heard.map(({ data }) => data.subject)).toEqual(['[selvedge main] 1 suspicious']);
  });

  it('says nothing of what began before its channel did', async () => {
    const hook = await startHookListener(SECRET);
    const before = await startTelling([]);
    await holdDeliveries(before);
    await before.clock.advance(MINUTE);
    const told = await startTelling([webhookTo(hook.url)], before);
    await told.later(HOUR);
    expect(hook.calls).toEqual([]);
  });

  it('holds no name, address or amount', async () => {
    const hook = await startHookListener(SECRET);
    const told = await startTelling([webhookTo(hook.url)]);
    await holdDeliveries(told);
    await sql`insert into sales_order (order_id, status, completed, company, shipping_address,
        extra, content_hash, first_seen_at, changed_at, read_seq, source)
      values (1, 'pending', 0, 'Canary Shop', '{"name":"Canary"}', '{}', '', 1, 1, 1, '')`.execute(
      told.store.db,
    );
    await told.later(HOUR);
    expect(JSON.stringify(hook.heard)).not.toMatch(/canary/i);
    expect(hook.heard).toHaveLength(1);
  });
});

describe('quiet hours', () => {
  const quiet = { quiet: '22:00-07:00' };

  it('end in one message with everything', async () => {
    const hook = await startHookListener(SECRET);
    const told = await startTelling([webhookTo(hook.url, quiet)]);
    // 21:50, and the digest would end at 22:05.
    await told.clock.advance(11 * HOUR + 50 * MINUTE);
    await holdDeliveries(told);
    for (let nth = 0; nth < 18; nth += 1) {
      await told.later(30 * MINUTE);
      await holdDeliveries(told, { first: 510_000 + nth });
    }
    // 06:50.
    expect(hook.heard).toHaveLength(0);
    await told.later(10 * MINUTE);
    expect(hook.heard.map(({ data }) => data.subject)).toEqual(['[selvedge main] 19 held']);
  });

  it('let an unknown outcome pass, and nothing else', async () => {
    const hook = await startHookListener(SECRET);
    const told = await startTelling([webhookTo(hook.url, quiet)]);
    await told.clock.advance(14 * HOUR);
    await holdDeliveries(told);
    await doubt(told, 'A-1');
    await told.later(20 * MINUTE);
    expect(hook.heard.map(({ data }) => data.subject)).toEqual([
      '[selvedge main] 1 of unknown outcome',
    ]);
    await told.later(8 * HOUR);
    expect(hook.heard.map(({ data }) => data.subject).at(1)).toBe('[selvedge main] 1 held');
  });

  it('let an unknown outcome pass while an older message waits for their end', async () => {
    const hook = await startHookListener(SECRET);
    const told = await startTelling([webhookTo(hook.url, quiet)]);
    await told.clock.advance(11 * HOUR + 44 * MINUTE);
    await holdDeliveries(told);
    hook.answer(503);
    await told.later(15 * MINUTE);
    expect(hook.calls).toHaveLength(1);
    hook.answer(200);
    await told.later(2 * MINUTE);
    expect(hook.calls).toHaveLength(1);
    await doubt(told, 'A-1');
    await told.later(20 * MINUTE);
    expect(hook.heard.map(({ data }) => data.subject)).toEqual([
      '[selvedge main] 1 of unknown outcome',
    ]);
    await told.later(10 * HOUR);
    expect(hook.heard.map(({ data }) => data.subject).at(1)).toBe('[selvedge main] 1 held');
  });
});

describe('a channel that does not work', () => {
  it('tells the reason beneath, and trusts the authorities of its own file', async () => {
    const tls = { key: KEY, cert: CERTIFICATE };
    const [hook, sink] = [await startHookListener(SECRET, tls), await startMailSink(tls)];
    const caFile = join(temporaryFolder(), 'own.pem');
    writeFileSync(caFile, CERTIFICATE);
    const secure = { host: 'localhost', tls: 'tls' };
    const told = await startTelling([
      webhookTo(hook.url, { name: 'hook' }),
      mailTo(sink.port, secure),
      // Both addresses of the name refuse, and the error of several has no words.
      webhookTo('http://localhost:9/hook', { name: 'dead' }),
      webhookTo(hook.url, { name: 'own-hook', caFile }),
      { ...mailTo(sink.port, secure), name: 'own-mail', caFile },
    ]);
    await holdDeliveries(told);
    await told.later(16 * MINUTE);
    const rows = await told.store.db.selectFrom('notification').selectAll().execute();
    const errors = Object.fromEntries(rows.map((row) => [row.channel, row.last_error]));
    const untrusted = 'DEPTH_ZERO_SELF_SIGNED_CERT (nobody vouches for its certificate: caFile';
    expect(errors).toEqual({
      hook: expect.stringContaining(`could not be asked: ${untrusted}`),
      mail: expect.stringContaining(`localhost took no mail: ${untrusted}`),
      dead: 'localhost:9 could not be asked: ECONNREFUSED (nothing listens there)',
      'own-hook': null,
      'own-mail': null,
    });
    expect([hook.heard.length, sink.mails.length]).toEqual([1, 1]);
  });

  it('is not tried again with a message that is too large for it, and says so', async () => {
    const [hook, sink, full] = [
      await startHookListener(SECRET),
      await startMailSink(),
      await startMailSink(),
    ];
    hook.answer(413);
    sink.answerMails('552 5.3.4 Message size exceeds fixed limit');
    full.answerMails('552 5.2.2 Mailbox full');
    const told = await startTelling([
      webhookTo(hook.url),
      mailTo(sink.port),
      { ...mailTo(full.port), name: 'full' },
    ]);
    await holdDeliveries(told);
    await told.later(16 * MINUTE);
    const rows = await told.store.db.selectFrom('notification').selectAll().execute();
    const seen = rows.map(({ channel, state, last_error: error }) => [channel, state, error]);
    expect(seen.sort()).toEqual([
      ['full', 'waiting', '127.0.0.1 took no mail: EMESSAGE 552'],
      ['mail', 'given_up', expect.stringMatching(/takes no message of .* EMESSAGE 552; it is not/)],
      [
        'office',
        'given_up',
        expect.stringMatching(/takes no message of .* answered 413; it is not/),
      ],
    ]);
    const incidents = await told.store.db
      .selectFrom('incident')
      .select(['key', 'detail'])
      .execute();
    expect(incidents.map(({ key }) => key).sort()).toEqual(['mail', 'office']);
    expect(incidents[0]?.detail).toContain('it is not tried again');
    await told.later(HOUR);
    expect(hook.calls).toHaveLength(1);
  });

  it('has its message where it said so, though its answer never ends', async () => {
    const hook = await startHookListener(SECRET);
    hook.neverEnd();
    const told = await startTelling([webhookTo(hook.url)]);
    await holdDeliveries(told);
    await told.later(16 * MINUTE);
    const rows = await told.store.db.selectFrom('notification').selectAll().execute();
    expect(rows.map(({ state, last_error: error }) => [state, error])).toEqual([
      ['delivered', null],
    ]);
  });

  it('is tried again ever later, is an incident, and gets the same message at last', async () => {
    const hook = await startHookListener(SECRET);
    const told = await startTelling([webhookTo(hook.url)]);
    await holdDeliveries(told);
    hook.answer(500);
    for (let nth = 0; nth < 80; nth += 1) await told.later(MINUTE);
    // At 15, 16, 18, 22, 30, 46 and 78 minutes.
    expect(hook.calls).toHaveLength(7);
    const open = () =>
      told.store.db
        .selectFrom('incident')
        .select(['kind', 'key', 'detail'])
        .where('resolved_at', 'is', null)
        .execute();
    expect(await open()).toMatchObject([{ kind: 'notify_failed', key: 'office' }]);
    expect((await open())[0]?.detail).toContain('answered 500');
    await holdDeliveries(told, { first: 700_000 });
    hook.answer(200);
    await told.later(HOUR);
    await told.later(MINUTE);
    expect(hook.heard.map(({ data }) => data.causes[0]?.oldest[0]?.id)).toEqual([500_000, 700_000]);
    expect(await open()).toEqual([]);
  });

  it('is given up after a day, which the audit tells', async () => {
    const hook = await startHookListener(SECRET);
    const told = await startTelling([webhookTo(hook.url)]);
    await holdDeliveries(told);
    hook.answer(500);
    for (let nth = 0; nth < 27; nth += 1) await told.later(HOUR);
    const audit = await told.store.db.selectFrom('audit').select(['action']).execute();
    expect(audit).toEqual([{ action: 'notify.give_up' }]);
    const calls = hook.calls.length;
    await told.later(HOUR);
    expect(hook.calls).toHaveLength(calls);
  });

  it('holds up no other one', async () => {
    const hook = await startHookListener(SECRET);
    const told = await startTelling([
      webhookTo('http://127.0.0.1:9/hook', { name: 'dead' }),
      webhookTo(hook.url),
    ]);
    await holdDeliveries(told);
    await told.later(16 * MINUTE);
    expect(hook.heard).toHaveLength(1);
  });

  it('goes on after a restart, with the same id, and tells nothing twice', async () => {
    const hook = await startHookListener(SECRET);
    const first = await startTelling([webhookTo(hook.url)]);
    await holdDeliveries(first);
    await holdDeliveries(first, { first: 800_000 });
    hook.answer(500);
    await first.later(16 * MINUTE);
    const row = await first.store.db.selectFrom('notification').selectAll().executeTakeFirst();
    const { clock } = first;
    await first.store.close();
    const { store } = await openStore({ path: first.store.path, busyTimeoutMs: 5_000 }, clock);
    hook.answer(200);
    const again = await startTelling([webhookTo(hook.url)], { store, clock });
    await again.later(2 * MINUTE);
    await again.later(HOUR);
    expect(hook.heard.map(({ id }) => id)).toEqual([`main_${row?.at}_${row?.notification_id}`]);
    await store.close();
  });

  it('lets no secret out, into the log, the table or the audit', async () => {
    const sink = await startMailSink();
    sink.answerRecipients('550 orders@example.com is not known');
    const login = { user: 'selvedge', password: new Secret('mail', 'canary-mail-password') };
    const secret = `http://127.0.0.1:9/${SECRET.slice(6)}`;
    const told = await startTelling([
      webhookTo(secret, { name: 'dead' }),
      mailTo(sink.port, login),
    ]);
    await holdDeliveries(told);
    await told.later(16 * MINUTE);
    const rows = await told.store.db.selectFrom('notification').selectAll().execute();
    expect(rows.map(({ last_error }) => last_error)).toEqual([
      expect.stringContaining('ECONNREFUSED'),
      '127.0.0.1 took no mail: EENVELOPE 550',
    ]);
    const seen = JSON.stringify([rows, told.log]);
    expect(told.log.join('')).toContain('a message has to wait');
    expect(seen).not.toContain('canary-mail-password');
    expect(seen).not.toContain(SECRET.slice(6));
    expect(seen).not.toContain('orders@example.com');
  });
});
