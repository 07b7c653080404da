import { REPLICA_SET_FINALIZER } from '../../../api/labels-and-annotations.ts';
import type { VmiSetSpec, ReplicaSetSpec } from '../../../api/replica-set/replica-set.ts';
import type { VmiSetInput, ReplicaSetInput } from '../../../decisions/replica-sets/plan-input.ts';
import type { StoredVmiSet, StoredReplicaSet } from '../../../decisions/views/owner.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aVm, aVmi } from '../fixtures/fleets.ts';

/** Sets and their VMs for the tests of decisions. Fields that a test doesn't care about have defaults. */

export function aSet(
  spec: Partial<ReplicaSetSpec> = {},
  metadata: Partial<StoredReplicaSet['metadata']> = {},
): StoredReplicaSet {
  return {
    apiVersion: 'drover.dev/v1alpha1',
    kind: 'VirtualMachineReplicaSet',
    metadata: {
      name: 'web',
      namespace: 'shop',
      uid: 'set-uid',
      generation: 1,
      finalizers: [REPLICA_SET_FINALIZER],
      ...metadata,
    },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { runStrategy: 'Always', template: { spec: { domain: {} } } },
      },
      ...spec,
    },
  };
}

/** A VM that the set controls and its selector matches. */
export const aMember = (name: string, fields: Partial<VmView> = {}): VmView =>
  aVm(name, {
    owner: { kind: 'VirtualMachineReplicaSet', name: 'web', uid: 'set-uid' },
    ownLabels: { app: 'web' },
    ...fields,
  });

/** What a plan reads besides the set and its VMs, when nothing continues. */
export const still: Omit<ReplicaSetInput, 'set' | 'vms'> = {
  uncontrolled: [],
  vmiOf: () => undefined,
  isVmNameTaken: () => false,
  inProgress: { creating: [], deleting: [] },
  uncertain: [],
  now: 0,
  burst: 250,
  backoffs: {},
  sets: [],
  otherVms: [],
};

export function anInstanceSet(
  spec: Partial<VmiSetSpec> = {},
  metadata: Partial<StoredVmiSet['metadata']> = {},
): StoredVmiSet {
  const set = aSet({}, metadata);
  const template = { metadata: { labels: { app: 'web' } }, spec: { domain: {} } };
  return { ...set, kind: 'VirtualMachineInstanceReplicaSet', spec: { ...set.spec, template, ...spec } };
}

/** A VMI that the set controls and its selector matches; it is ready. */
export const anInstance = (
  name: string,
  fields: Partial<VmiView> & { labels?: Record<string, string>; owner?: VmView['owner'] } = {},
): VmiView => {
  const { labels = { app: 'web' }, owner = OWNER, ...others } = fields;
  return { ...aVmi(aVm(name)), vmUid: null, standalone: { owner, labels }, ...others };
};

const OWNER = { kind: 'VirtualMachineInstanceReplicaSet', name: 'web', uid: 'set-uid' };

/** A VMI that has ended without ever having run. */
export const aFailedStart = (name: string, createdAt = 0): VmiView =>
  anInstance(name, {
    phase: 'Failed',
    ready: false,
    createdAt,
    runningSince: null,
    endedAt: createdAt + 1_000,
    whyNotReady: 'no kernel',
  });

/** What a plan reads besides the set and its VMIs, when nothing continues. */
export const calm: Omit<VmiSetInput, 'set' | 'vmis'> = {
  uncontrolled: [],
  isVmNameTaken: () => false,
  inProgress: { creating: [], deleting: [] },
  uncertain: [],
  now: 0,
  burst: 250,
  backoffs: {},
  sets: [],
  otherVms: [],
  otherVmis: [],
  starts: null,
};
