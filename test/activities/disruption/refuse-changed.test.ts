import { expect, test } from 'vitest';
import { refuseChanged } from '../../../activities/disruption/refuse-changed.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { aVm } from '../../decisions/fixtures/fleets.ts';

const vm = aVm('web-1');
const check = (value: string | undefined): Promise<void> => {
  const owner = { apiVersion: 'drover.dev/v1alpha1', kind: 'VirtualMachinePool', name: 'web', uid: vm.owner!.uid };
  const annotations = value === undefined ? {} : { 'drover.dev/do-not-disrupt': value };
  const metadata = { name: vm.name, uid: vm.uid, annotations, ownerReferences: [{ ...owner, controller: true }] };
  const client = { getMetadata: () => Promise.resolve({ metadata }) } as unknown as KubeClient;
  return refuseChanged(client, vm, null);
};

test.each(['true', 'True', 'yes', '4h', '2999-01-01T00:00:00Z'])(
  'a VM that has just been annotated %j is not disrupted',
  async (value) => await expect(check(value)).rejects.toThrow('has just opted out'),
);

test.each([undefined, 'false', '2020-01-01T00:00:00Z'])('a VM that is annotated %j is disrupted', async (value) => {
  await expect(check(value)).resolves.toBeUndefined();
});
