import fc from 'fast-check';
import { POOL_FINALIZER, POOL_LABEL } from '../../../api/names.ts';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import type { PoolPlanInput } from '../../../decisions/pool/plan-input.ts';
import { revisionOf } from '../../../decisions/revisions/hash.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';

/** Pools and VMs for the tests of decisions. Fields that a test doesn't care about have defaults. */

export function aPool(spec: Partial<PoolSpec> = {}, metadata: Partial<StoredPool['metadata']> = {}): StoredPool {
  return {
    apiVersion: 'drover.dev/v1alpha1',
    kind: 'VirtualMachinePool',
    metadata: {
      name: 'web',
      namespace: 'shop',
      uid: 'pool-uid',
      generation: 1,
      finalizers: [POOL_FINALIZER],
      ...metadata,
    },
    spec: { replicas: 3, template: { spec: { runStrategy: 'Always', template: { spec: { domain: {} } } } }, ...spec },
  };
}

/** The revision of the template of `aPool()`. */
export const REVISION = revisionOf(aPool().spec.template);

export function aVm(name: string, fields: Partial<VmView> = {}): VmView {
  return {
    namespace: 'shop',
    name,
    uid: `uid-of-${name}`,
    resourceVersion: '1',
    owner: { kind: 'VirtualMachinePool', name: 'web', uid: 'pool-uid' },
    role: null,
    standby: null,
    createdAt: 0,
    deleting: false,
    removing: false,
    leavingSince: fields.deleting === true || fields.removing === true ? 1_000_000 : null,
    keepsDisks: false,
    labels: {},
    ownLabels: { [POOL_LABEL]: 'web' },
    annotated: true,
    annotations: {},
    spec: null,
    revision: REVISION,
    runStrategy: 'Always',
    machineType: 'pc-q35-rhel9.6.0',
    architecture: null,
    preference: null,
    transition: null,
    transitionMark: null,
    hasVmi: true,
    ready: true,
    state: 'Running',
    startFailures: 0,
    notReadySince: null,
    lastFailedVmi: null,
    notYetRun: '',
    setRight: false,
    joined: false,
    protected: false,
    optedOut: false,
    restartRequired: null,
    changingState: false,
    generationObserved: true,
    snapshotting: false,
    ...fields,
  };
}

/** The VMI of a VM: as ready as the VM, and started from its current revision. */
export function aVmi(vm: VmView, fields: Partial<VmiView> = {}): VmiView {
  return {
    namespace: vm.namespace,
    name: vm.name,
    uid: `vmi-of-${vm.uid}`,
    resourceVersion: '1',
    vmUid: vm.uid,
    createdAt: vm.createdAt,
    deleting: false,
    deletingSince: fields.deleting === true ? 1_000_000 : null,
    phase: 'Running',
    phaseSince: 0,
    ready: vm.ready,
    readySince: 0,
    scheduledAt: 0,
    runningSince: 0,
    endedAt: null,
    probationMs: null,
    revision: vm.revision,
    paused: false,
    migrating: false,
    migratable: true,
    node: 'node-1',
    podNode: null,
    podNodeCordoned: false,
    toleratesCordons: false,
    nodeLost: false,
    machineType: 'pc-q35-rhel9.6.0',
    specMachineType: vm.machineType,
    cpu: { sockets: null, maxSockets: null, current: null },
    memory: { guest: null, maxGuest: null, atBoot: null, current: null },
    placement: '{}',
    podTerminating: false,
    evictionStrategy: null,
    evacuationNode: null,
    evacuation: null,
    standalone: null,
    whyNotReady: null,
    ...fields,
  };
}

const vmis = new WeakMap<VmView, VmiView>();

/** The VMI that `aVmi` makes, the same at each call as in a cache; undefined if the VM has none. */
export function vmiOf(vm: VmView): VmiView | undefined {
  if (!vm.hasVmi) return undefined;
  const vmi = vmis.get(vm) ?? aVmi(vm);
  vmis.set(vm, vmi);
  return vmi;
}

/** What a plan reads besides the pool and its VMs: nothing is in progress, and all VMIs are healthy. */
export const quiet: Omit<PoolPlanInput, 'pool' | 'vms' | 'burst'> = {
  vmiOf,
  isVmNameTaken: () => false,
  inProgress: { creating: [], deleting: [] },
  revisions: [{ name: `web-${REVISION}`, revision: REVISION, number: 1, template: aPool().spec.template }],
  strategy: 'LiveUpdate',
  rollout: null,
  batches: [],
  healing: null,
  batchesNotBefore: 0,
  now: 1_000_000,
  backoffs: {},
};

/** Any VM of the pool `web` with this number. */
export const anyVm = (number: number): fc.Arbitrary<VmView> =>
  fc
    .record({
      createdAt: fc.nat(1000),
      deleting: fc.boolean(),
      removing: fc.boolean(),
      runStrategy: fc.constantFrom('Always', 'Halted', 'Manual'),
      hasVmi: fc.boolean(),
      ready: fc.boolean(),
      state: fc.constantFrom('Running', 'Stopped', 'CrashLoopBackOff', 'Starting'),
      startFailures: fc.nat(2),
      joined: fc.boolean(),
      protected: fc.boolean(),
      labels: fc.record({ tier: fc.constantFrom('a', 'b') }, { requiredKeys: [] }),
    })
    .map((fields) => aVm(`web-${number}`, fields as Partial<VmView>));

export const anyFleet: fc.Arbitrary<VmView[]> = fc
  .uniqueArray(fc.integer({ min: 1, max: 40 }), { maxLength: 30 })
  .chain((numbers) => fc.tuple(...numbers.map(anyVm)));
