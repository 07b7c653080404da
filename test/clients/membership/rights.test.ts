import { beforeEach, expect, test } from 'vitest';
import {
  KubeVirtPools,
  Pods,
  SelfSubjectAccessReviews,
  SelfSubjectReviews,
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachines,
} from '../../../api/resources.ts';
import { release } from '../../../clients/membership/takeover/release.ts';
import { REQUIRED, type Command } from '../../../clients/membership/takeover/rights.ts';
import { takeOver } from '../../../clients/membership/takeover/takeover.ts';
import { formatRight } from '../../../kubernetes/access-review.ts';
import { readManifests, right, rightsOf } from '../../deploy/rights.ts';
import { Cluster, key, namespace, options, referenceTo, silence } from './cluster.ts';

beforeEach(silence);

/** Kubernetes lets everybody who has logged in create these. */
const OF_EVERYBODY = [SelfSubjectReviews.plural, SelfSubjectAccessReviews.plural];

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
      if (!OF_EVERYBODY.includes(plural)) used.add(right(verb, group, plural, subresource));
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

const COMMANDS = { takeover: takeOver, release };
const run = (cluster: Cluster, command: Command): Promise<void> => COMMANDS[command](cluster.session(), key, options);

/** A pool of KubeVirt for a takeover, and of drover for a release. */
function aCluster(command: Command): Cluster {
  const cluster = new Cluster();
  if (command === 'takeover') cluster.kubeVirtPool('web-0', 'web-1');
  else cluster.pool('web-1', 'web-2');
  for (const vm of cluster.server.all(VirtualMachines))
    cluster.server.create(VirtualMachineInstances, {
      metadata: { namespace, name: vm.metadata.name, ownerReferences: [referenceTo(vm)] },
      spec: {},
    });
  return cluster;
}

test.each<Command>(['takeover', 'release'])(
  'a %s that lacks a right begins nothing and names that right, or ends without it',
  async (command) => {
    const role = readManifests('rbac/users.yaml').find(({ metadata }) => metadata.name === 'drover-takeover')!;
    const refused: string[] = [];
    for (const right of rightsOf(role)) {
      const cluster = aCluster(command);
      cluster.lacks = right;
      const before = cluster.server.version;
      const error = await run(cluster, command).then(
        () => undefined,
        (reason: unknown) => reason as Error,
      );
      if (error === undefined) continue;
      refused.push(right);
      expect({ right, message: error.message, version: cluster.server.version }).toEqual({
        right,
        message: expect.stringContaining(right) as string,
        version: before,
      });
    }
    const required = REQUIRED[command].map(formatRight);
    expect(refused).toEqual(expect.arrayContaining(required));
  },
);

test('who may not ask for their rights is not held up', async () => {
  const cluster = aCluster('takeover');
  cluster.lacks = 'create selfsubjectaccessreviews.authorization.k8s.io';
  await run(cluster, 'takeover');
  expect(cluster.find(KubeVirtPools)).toBeUndefined();
});
