import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { expect, onTestFinished, test } from 'vitest';
import { KubeClient } from '../../../kubernetes/client.ts';
import { answer } from '../../../simulator/api/server.ts';

const RESTART = '/apis/subresources.kubevirt.io/v1/namespaces/shop/virtualmachines/web-1/restart';

/** Starts the simulator's API without TLS, and records the calls that it carries out. */
async function virtApi(): Promise<{ address: string; performed: string[] }> {
  const performed: string[] = [];
  const perform = async ({ action, name }: { action: string; name: string }): Promise<void> =>
    void performed.push(`${action} ${name}`);
  const server = createServer((request, response) => void answer({ perform, hooks: new Map() }, request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, performed };
}

test.each(['application/json', 'application/json, text/*', 'application/json;q=0.9'])(
  'an action is refused to a client that accepts only %s, as virt-api refuses it',
  async (accept) => {
    const { address, performed } = await virtApi();
    const response = await fetch(address + RESTART, { method: 'PUT', body: '{}', headers: { accept } });
    expect(response.status).toBe(406);
    expect(await response.text()).toContain('406: Not Acceptable');
    expect(performed).toEqual([]);
  },
);

test.each(['*/*', 'application/json, */*', 'application/json,*/*;q=0.1'])(
  'an action is done for a client that accepts %s',
  async (accept) => {
    const { address, performed } = await virtApi();
    const response = await fetch(address + RESTART, { method: 'PUT', body: '{}', headers: { accept } });
    expect(response.status).toBe(202);
    expect(performed).toEqual(['restart web-1']);
  },
);

test("drover's own client accepts whatever an action answers", async () => {
  const { address, performed } = await virtApi();
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: 'it', server: address, skipTLSVerify: true }, { name: 'it' });
  const client = new KubeClient(config);
  onTestFinished(() => client.close());
  await client.request({ method: 'PUT', path: RESTART, body: {} });
  expect(performed).toEqual(['restart web-1']);
});

test('verbs of the actions are listed as null, as virt-api lists them', async () => {
  const { address } = await virtApi();
  const { resources } = (await (await fetch(`${address}/apis/subresources.kubevirt.io/v1`)).json()) as {
    resources: { name: string; verbs: unknown }[];
  };
  expect(resources).toContainEqual(expect.objectContaining({ name: 'virtualmachines/restart', verbs: null }));
});
