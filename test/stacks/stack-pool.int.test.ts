import { expect, inject, onTestFinished, test } from 'vitest';
import type { KubeObject } from '../../api/objects.ts';
import { KubeVirts, Namespaces } from '../../api/resources.ts';
import { connectTemporal } from '../../clients/session/temporal.ts';
import { setup } from '../../clients/setup/setup.ts';
import { choosePorts } from '../../dev/process/ports.ts';
import { ConfigMaps, configMap, kubeOf } from '../dev/stacks.ts';
import { PATIENCE_MS, waitFor } from '../wait-for.ts';
import { LeasedStack } from './leased-stack.ts';
import { StackPool, type Wanted } from './stack-pool.ts';

const KUBEVIRT = { namespace: 'kubevirt', name: 'kubevirt' };

async function aPool(): Promise<StackPool> {
  const pool = new StackPool(inject('programs')!);
  await pool.listen();
  onTestFinished(() => pool.close());
  return pool;
}

const namesOf = ({ items }: { items: KubeObject[] }): string[] => items.map(({ metadata }) => metadata.name);

async function workflowsOf({ temporalAddress }: LeasedStack): Promise<string[]> {
  const { client, connection } = await connectTemporal({ address: temporalAddress });
  const ids: string[] = [];
  for await (const { workflowId } of client.workflow.list()) ids.push(workflowId);
  await connection.close();
  return ids;
}

test('two leases at once get separate stacks, and a stack that is leased again has its first state, at the same ports', async () => {
  const pool = await aPool();
  const lease = (wanted: Wanted): Promise<LeasedStack> => LeasedStack.lease(wanted, pool.socket);
  const [first, other] = await Promise.all([lease({ simulator: true }), lease({ simulator: true })]);
  const kube = kubeOf(first);
  const before = await kube.list(Namespaces, {});
  await kube.create(Namespaces, { metadata: { name: 'left-behind' } });
  await kube.create(ConfigMaps, configMap('left-behind'));
  await kube.patch(KubeVirts, KUBEVIRT, 'merge', { metadata: { annotations: { changed: 'yes' } } });
  const temporal = await connectTemporal({ address: first.temporalAddress });
  await setup({ kube, temporal, cluster: 'default', say: () => {} });
  await temporal.connection.close();
  expect(await workflowsOf(first)).toEqual(['watch/default']);
  expect(await workflowsOf(other)).toEqual([]);
  expect(namesOf(await kubeOf(other).list(Namespaces, {}))).not.toContain('left-behind');
  await first.stop();
  await waitFor(() => expect(fetch(first.temporalUi)).rejects.toThrow(), PATIENCE_MS);
  const ui = Number(new URL(first.temporalUi).port);
  await waitFor(() => expect(choosePorts(['ui'], { ui }, {})).rejects.toThrow('is taken'), 10_000);

  const second = await lease({ simulator: false, temporal: false });
  expect(second.state).toBe(first.state);
  const withoutSimulator = namesOf(before).filter((name) => name !== KUBEVIRT.namespace);
  expect(namesOf(await kube.list(Namespaces, {}))).toEqual(withoutSimulator);
  expect(namesOf(await kube.list(ConfigMaps, { namespace: 'default' }))).not.toContain('left-behind');
  await expect(fetch(second.temporalUi)).rejects.toThrow();
  await expect(choosePorts(['ui'], { ui }, {})).rejects.toThrow('is taken');
  await second.stop();

  const third = await lease({ simulator: true });
  expect(third.state).toBe(first.state);
  expect(namesOf(await kube.list(Namespaces, {}))).toEqual(namesOf(before));
  expect((await kube.get(KubeVirts, KUBEVIRT)).metadata.annotations?.['changed']).toBeUndefined();
  expect(await workflowsOf(third)).toEqual([]);
  await Promise.all([third.stop(), other.stop()]);
});
