import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import { createEach } from '../../../activities/owners/create-members.ts';
import type { PoolKey } from '../../../activities/owners/types.ts';
import { VirtualMachines } from '../../../api/resources.ts';
import type { NewMember } from '../../../decisions/template/vm-from-template.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import { aFleet, haltedTemplate } from '../../integration/fleet.ts';

const cluster = aFleet({ simulator: false, workers: 0 });

const vmOf = ({ namespace, ...owner }: PoolKey, name: string): NewMember => ({
  apiVersion: 'kubevirt.io/v1',
  kind: 'VirtualMachine',
  metadata: {
    namespace,
    name,
    labels: {},
    ownerReferences: [
      {
        apiVersion: 'drover.dev/v1alpha1',
        kind: 'VirtualMachinePool',
        ...owner,
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
  },
  spec: haltedTemplate.spec,
});

test("a VM that is there already counts as made if it is the owner's; a name that another's VM has is reported", async () => {
  const { kube } = cluster();
  const namespace = await cluster().namespace();
  const pool = await cluster().createPool(namespace, 'web', { replicas: 3 });
  const key = { namespace, name: 'web', uid: pool.metadata.uid };
  await kube.create(VirtualMachines, vmOf(key, 'web-1'));
  const others = await kube.create(VirtualMachines, vmOf({ ...key, uid: 'of-another-pool' }, 'web-2'));

  const done = await new MockActivityEnvironment().run(() =>
    createEach({
      client: kube,
      key,
      owner: pool as StoredPool,
      items: ['web-1', 'web-2', 'web-3'].map((name) => ({ name })),
      concurrency: 1,
      skipSlowStart: true,
      creationBlockedBy: () => null,
      vmOf: ({ name }) => vmOf(key, name),
    }),
  );

  expect(done).toMatchObject({ nameConflicts: ['web-2'], notWanted: [], refused: null });
  expect((await kube.get(VirtualMachines, { namespace, name: 'web-2' })).metadata.uid).toBe(others.metadata.uid);
  expect(await kube.get(VirtualMachines, { namespace, name: 'web-3' })).toBeDefined();
});
