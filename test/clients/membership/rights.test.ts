import { beforeEach, expect, test } from 'vitest';
import {
  KubeVirtPools,
  Pods,
  SelfSubjectReviews,
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachines,
} from '../../../api/resources.ts';
import { release } from '../../../clients/membership/takeover/release.ts';
import { takeOver } from '../../../clients/membership/takeover/takeover.ts';
import { readManifests, right, rightsOf } from '../../deploy/rights.ts';
import { Cluster, key, namespace, options, referenceTo, silence } from './cluster.ts';

beforeEach(silence);

test('the role drover-takeover has the rights that a takeover and a release use, and no others', async () => {
  const cluster = new Cluster();
  cluster.kubeVirtPool('web-0', 'web-1');
  const vmi = cluster.server.create(VirtualMachineInstances, {
    metadata: { namespace, name: 'web-0', ownerReferences: [referenceTo(cluster.find(VirtualMachines, 'web-0')!)] },
    spec: {},
  });
  const labels = { 'kubevirt.io/created-by': vmi.metadata.uid };
  cluster.server.create(Pods, { metadata: { namespace, name: 'virt-launcher-web-0', labels } });

  const used = new Set<string>();
  const runKilledBefore = async (command: typeof release, killing: { group: string }): Promise<void> => {
    cluster.before = async ({ verb, resource: { plural, group }, subresource }) => {
      if (plural !== SelfSubjectReviews.plural) used.add(right(verb, group, plural, subresource));
      if (verb === 'delete' && plural === KubeVirtPools.plural && group === killing.group) throw new Error('killed');
    };
    await command(cluster.session(), key, options).catch(() => {});
  };
  const never = { group: 'none' };
  await runKilledBefore(takeOver, KubeVirtPools);
  await runKilledBefore(takeOver, KubeVirtPools);
  await runKilledBefore(release, VirtualMachinePools);
  await runKilledBefore(release, never);
  await runKilledBefore(takeOver, never);
  await runKilledBefore(release, never);
  // A pool that is deleted is followed until it is gone.
  used.add('watch virtualmachinepools.drover.dev');

  const role = readManifests('rbac/users.yaml').find(({ metadata }) => metadata.name === 'drover-takeover')!;
  expect([...used].sort()).toEqual(rightsOf(role));
});
