import { expect, it } from 'vitest';
import type { Config } from '../src/config/schema.ts';
import { signedIn, seenRows, startConsole } from './console/support.ts';
it('x', async () => {
  let config: Config | undefined;
  const house = await startConsole({ held: 1, readConfig: () => { if (!config) throw new Error('x'); return config; } });
  const anna = await operator(house);
  const [row] = await seenRows(anna);
  console.log(house.config.rules.mode, JSON.stringify((await anna.get(`/deliveries/${row?.orderDeliveryId}/now.json`)).json).slice(0, 900));
  config = { ...house.config, rules: { ...house.config.rules, mode: 'shadow' } };
  await house.daemon.reload({ actor: 'a', reason: '' });
  console.log(JSON.stringify((await anna.get(`/deliveries/${row?.orderDeliveryId}/now.json`)).json).slice(0, 900));
});
