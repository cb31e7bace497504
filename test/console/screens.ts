/** Addresses of every screen of a house whose data is in many states, for those who look at all. */
import { openIncident } from '../../src/store/incidents.ts';
import { SHIRT, seedGoods } from './goods.ts';
import { trialOf } from './rules-house.ts';
import { type Caller, type ConsoleHouse, heldIds } from './support.ts';

/** `own`: the session that will look; a trial belongs to the one that began it. */
export async function screensOf({ daemon }: ConsoleHouse, own: Caller): Promise<string[]> {
  const { store } = daemon;
  const [id] = await heldIds(daemon);
  await seedGoods(store, Date.now());
  const style = `/stock/${encodeURIComponent(SHIRT)}`;
  const of = ['', '/now', '/facts', '/changes', '/raw'];
  const parts = of.map((part) => `/deliveries/${id}${part}`);
  const [run, event] = await Promise.all([
    store.db.selectFrom('sync_run').select('run_id as id').executeTakeFirstOrThrow(),
    store.db.selectFrom('webhook_event').select('event_id').executeTakeFirstOrThrow(),
  ]);
  const suspicious = { outcome: 'suspicious', rows_held: 3 } as const;
  await store.db.updateTable('sync_run').set(suspicious).execute();
  const grew = { kind: 'file_grew', entity: 'file', key: 'day.csv', detail: {} };
  await openIncident(store.db, grew, Date.now());
  const incidents = store.db.selectFrom('incident').select('id').where('kind', '=', grew.kind);
  const incident = await incidents.executeTakeFirstOrThrow();
  const orders = store.db.selectFrom('sales_order').select('order_id');
  const order = await orders.executeTakeFirstOrThrow();
  const tried = await trialOf(own);
  await own.form('/review/views/save', { name: 'Denmark', filter: 'country=DK&sort=value' });
  const tick = /name="t" value="([\w-]+)"/.exec((await own.get('/review')).text)?.[1];
  const mistaken = await trialOf(own, { files: [{ path: 'a.yaml', text: 'rules:\n  - id: a\n' }] });
  return [
    ...['/', '/review', `/review?open=${id}`, '/review/all?act=accept', ...parts, '/outbox'],
    ...['accept', 'reject', 'assign'].map((act) => `/review/ticked?act=${act}&t=${tick}`),
    ...['/review/views', '/review?country=DK&sort=value'],
    ...['/stock', style, `${style}?asOf=2020-01-01T00:00`, `${style}/history`, `${style}/orders`],
    ...[`${style}/seasons`, '/reports', '/reports/all/schedules', '/reports/stock-grid'],
    `/reports/stock-grid?param.style=${encodeURIComponent(SHIRT)}`,
    ...['/reports/decisions-per-day', '/reports/stock-as-of?param.style=x&param.at=soon'],
    ...['/pulls', '/pulls/orders', `/pulls/runs/${run.id}`],
    ...['/events', `/events/${event.event_id}`, '/acts/events.replay?since=1d'],
    ...['/system', '/system/doctor', '/system/doctor?now=1', '/system/settings'],
    ...['/system/backups', '/orders', '/refunds', '/events/missed'],
    ...['/incidents', `/incidents/${incident.id}`, '/incidents/past?since=7d'],
    ...['/find?q=1', '/find?q=nobody-at-all', `/orders/${order.order_id}`],
    ...['/system/audit', '/system/people'],
    ...['/rules', '/rules/hold-all', '/rules/reload', '/rules/trial', `/rules/trial/${mistaken}`],
    ...['/rules/suggest', `/rules/trial/${tried}`, '/rules/reject-many', '/rules/reject-many/arm'],
  ];
}
