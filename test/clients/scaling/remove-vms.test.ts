import { expect, test, vi } from 'vitest';
import {
  PROTECT_ANNOTATION,
  REMOVE_VMS_ANNOTATION,
  REMOVING_ANNOTATION,
  ROLE_LABEL,
} from '../../../api/labels-and-annotations.ts';
import type { Stored } from '../../../api/objects.ts';
import type { Resource } from '../../../api/resources.ts';
import { nameVms } from '../../../clients/scaling/remove-vms.ts';
import type { KubeClient, ObjectKey } from '../../../kubernetes/client.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { poolWith } from '../rollout/pools.ts';

const vm = (name: string, metadata: object = {}, uid = 'u'): Stored => ({
  metadata: {
    name,
    namespace: 'default',
    uid: `uid-${name}`,
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
    ownerReferences: [
      { apiVersion: 'drover.dev/v1alpha1', kind: 'VirtualMachinePool', name: 'web', uid, controller: true },
    ],
    ...metadata,
  },
});

const REMOVAL = { keep: false, isCounted: true };

/** Runs the removal on a pool of ten that has these VMs, and returns what was written. */
const removed = (names: string[], ...vms: Stored[]): Promise<unknown> => left(REMOVAL, names, ...vms);

/** The same for VMs that leave in this way. */
async function left(
  { annotations, ...how }: typeof REMOVAL & { annotations?: Record<string, string> },
  names: string[],
  ...vms: Stored[]
): Promise<unknown> {
  const pool = poolWith();
  if (annotations !== undefined) pool.metadata.annotations = annotations;
  const get = ({ plural }: Resource, { name }: ObjectKey): Promise<Stored> => {
    if (plural === 'virtualmachinepools') return Promise.resolve(pool);
    const found = vms.find(({ metadata }) => metadata.name === name);
    return found === undefined
      ? Promise.reject(new KubeError(404, 'NotFound', `virtualmachines.kubevirt.io "${name}" not found`))
      : Promise.resolve(found);
  };
  const patch = vi.fn<KubeClient['patch']>();
  const kube = { get, patch } as unknown as KubeClient;
  try {
    await nameVms(kube, { namespace: 'default', name: 'web' }, { ...how, names, dryRun: 'none' });
  } catch (error) {
    expect(patch).not.toHaveBeenCalled();
    throw error;
  }
  return patch.mock.calls[0]?.[3];
}

test('VMs are named with their UIDs and subtracted from the number in one write of the version that was read', async () => {
  expect(await removed(['web-2', 'web-2', 'web-7'], vm('web-2'), vm('web-7'))).toMatchObject({
    metadata: {
      resourceVersion: '1',
      annotations: { [REMOVE_VMS_ANNOTATION]: expect.stringContaining('uid-web-7') as string },
    },
    spec: { replicas: 8 },
  });
});

const kept = (...names: string[]): string =>
  JSON.stringify(Object.fromEntries(names.map((name) => [name, { uid: `uid-${name}`, keep: true }])));

test.each([
  [true, { replicas: 9 }],
  [false, undefined],
])(
  'VMs that are kept are counted if a user asks for that (%s), and no VM is counted twice',
  async (isCounted, spec) => {
    const annotations = { [REMOVE_VMS_ANNOTATION]: kept('web-2') };
    const written = (await left({ keep: true, isCounted, annotations }, ['web-2', 'web-7'], vm('web-7'))) as {
      metadata: Stored['metadata'];
      spec?: object;
    };
    expect(written.metadata.annotations).toEqual({ [REMOVE_VMS_ANNOTATION]: kept('web-2', 'web-7') });
    expect(written.spec).toEqual(spec);
  },
);

test('a VM is kept though it is protected from scale-in, and standby VMs only if none is counted', async () => {
  const keep = { keep: true, isCounted: true };
  const guarded = vm('web-2', { annotations: { [PROTECT_ANNOTATION]: 'true' } });
  expect(await left(keep, ['web-2'], guarded)).toMatchObject({ spec: { replicas: 9 } });
  const standby = vm('web-2', labels('Standby'));
  await expect(left(keep, ['web-2'], standby)).rejects.toThrow(
    'web-2 is not one of its replicas: leave --decrement out',
  );
  expect(await left({ ...keep, isCounted: false }, ['web-2'], standby)).toBeDefined();
  await expect(left({ ...keep, isCounted: false }, ['web-2'], vm('web-2', labels('Surge')))).rejects.toThrow(
    'is extra',
  );
});

const labels = (role: string): object => ({ labels: { [ROLE_LABEL]: role } });

test.each<[string, Stored[], RegExp]>([
  ['is not there', [], /there is no vm web-2/],
  ['is of another pool', [vm('web-2', {}, 'other')], /vm web-2 is not one of its VMs, but of VirtualMachinePool web/],
  ['is of no owner', [vm('web-2', { ownerReferences: [] })], /vm web-2 is not one of its VMs$/],
  ['is being deleted', [vm('web-2', { deletionTimestamp: '2026-01-01T00:00:30Z' })], /vm web-2 is leaving already/],
  ['leaves', [vm('web-2', { annotations: { [REMOVING_ANNOTATION]: '{}' } })], /vm web-2 is leaving already/],
  [
    'is protected',
    [vm('web-2', { annotations: { [PROTECT_ANNOTATION]: 'true' } })],
    /run `kubectl annotate vm web-2 drover\.dev\/protect-from-scale-in-` first/,
  ],
  [
    'is protected from any deletion',
    [vm('web-2', { labels: { 'kubevirt.io/vm-delete-protection': 'True' } })],
    /run `kubectl label vm web-2 kubevirt\.io\/vm-delete-protection-` first/,
  ],
  ['is extra in an update', [vm('web-2', labels('Surge'))], /vm web-2 is extra while pool web updates others/],
  [
    'is standby',
    [vm('web-2', labels('Standby'))],
    /vm web-2 is not one of its replicas: `kubectl delete vm web-2` removes it, and spec\.standby\.replicas says how many/,
  ],
])('a removal is refused as a whole if one VM %s', async (_, vms, why) => {
  const all = removed(['web-1', 'web-2'], vm('web-1'), ...vms);
  await expect(all).rejects.toThrow(/^no VM is removed from pool web: /);
  await expect(all).rejects.toThrow(why);
});
