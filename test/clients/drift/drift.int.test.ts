import { expect, test } from 'vitest';
import type { PoolStatus } from '../../../api/pool/pool.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../../api/resources.ts';
import type { PoolDrift } from '../../../clients/drift/read.ts';
import { aFleet, namesUpTo, runningTemplate, until } from '../../integration/fleet.ts';
import { aSecondLater } from '../../integration/operations/operations.ts';
import { nowhere, type Outcome } from '../drover.ts';
import { droverHere as run } from '../in-process.ts';

const fleet = aFleet();
const drover = (...args: string[]): Promise<Outcome> => run(args, { ...nowhere, ...fleet().stack.env });

test('`drover drift` names the fields that a user has changed, by VM, and nothing of other pools', async () => {
  const namespace = await fleet().namespace();
  for (const name of ['web', 'db']) await fleet().createPool(namespace, name, { replicas: 2 });
  for (const name of ['web', 'db']) await fleet().settled(namespace, name, namesUpTo(name, 2));
  const same = 'all VMs that can be compared match their templates\n';
  expect(await drover('drift', 'pool', 'web', '-n', namespace)).toMatchObject({ code: 0, stdout: same, stderr: '' });

  const memory = { spec: { template: { spec: { domain: { memory: { guest: '128Mi' } } } } } };
  await fleet().kube.patch(VirtualMachines, { namespace, name: 'web-2' }, 'merge', memory);
  await until(async () => expect((await fleet().pool(namespace, 'web'))?.status).toMatchObject({ driftedReplicas: 1 }));
  const all = await drover('drift', '-n', namespace);
  expect(all).toMatchObject({ code: 0, stderr: '' });
  expect(all.stdout).toContain(`pool db\n${same}`);
  expect(all.stdout).toMatch(
    /pool web\nVM +REVISION +FIELD +WANTED +ACTUAL +BEING CORRECTED\nweb-2 .*memory\.guest +64Mi +128Mi +False\n/,
  );
  const { stdout } = await drover('drift', 'pool/web', '-n', namespace, '-o', 'json');
  expect((JSON.parse(stdout) as PoolDrift).vms.map(({ vm }) => vm)).toEqual(['web-2']);

  const nothing = `No resources found in empty namespace.\n`;
  expect(await drover('drift', '-n', 'empty')).toMatchObject({ code: 0, stdout: '', stderr: nothing });
  expect(await drover('drift', 'pool', 'nope', '-n', namespace)).toMatchObject({
    code: 1,
    stdout: '',
    stderr: 'error: virtualmachinepools.drover.dev "nope" not found\n',
  });
});

test('`drover rollout restart --drifted` corrects what users have changed, and restarts no other VM', async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: 2, template: runningTemplate });
  const says = (status: Partial<PoolStatus>): Promise<void> =>
    until(async () => expect((await fleet().pool(namespace, 'web'))?.status).toMatchObject(status));
  await says({ readyReplicas: 2, driftedReplicas: 0 });
  const vmi = async (name: string): Promise<{ uid: string; guest: string }> => {
    const { metadata, ...rest } = await fleet().kube.get(VirtualMachineInstances, { namespace, name });
    const { domain } = rest['spec'] as { domain: { memory: { guest: string } } };
    return { uid: metadata.uid, guest: domain.memory.guest };
  };
  const [first, second] = [await vmi('web-1'), await vmi('web-2')];
  const memory = { spec: { template: { spec: { domain: { memory: { guest: '128Mi' } } } } } };
  await fleet().kube.patch(VirtualMachines, { namespace, name: 'web-2' }, 'merge', memory);
  await aSecondLater();
  expect(await drover('vm', 'restart', 'web-2', '-n', namespace)).toMatchObject({ code: 0, stderr: '' });
  const drifted = await vmi('web-2');
  expect(drifted).toEqual({ uid: expect.not.stringMatching(second.uid) as string, guest: '128Mi' });
  await says({ readyReplicas: 2, driftedReplicas: 1 });

  const path = 'spec.template.spec.domain.memory.guest';
  expect(await drover('rollout', 'restart', 'pool', 'web', '--drifted', '-n', namespace)).toMatchObject({
    code: 0,
    stdout: `virtualmachine.kubevirt.io/web-2 will be corrected: ${path}\n`,
    stderr: '',
  });
  await says({ driftedReplicas: 0 });
  await until(async () => expect((await vmi('web-2')).guest).toBe('64Mi'));
  await says({ readyReplicas: 2, updatedReplicas: 2 });
  expect((await vmi('web-2')).uid).not.toBe(drifted.uid);
  expect(await vmi('web-1')).toEqual(first);
});
