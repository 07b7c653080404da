import fc from 'fast-check';
import { POOL_FINALIZER } from '../../api/names.ts';
import type { PoolSpec } from '../../api/pool.ts';
import type { StoredPool } from '../../decisions/vm-from-template.ts';
import type { VmView } from '../../decisions/vm.ts';

/** Pools and VMs for the tests of decisions, with what a test doesn't care about filled in. */

export function aPool(spec: Partial<PoolSpec> = {}, metadata: Partial<StoredPool['metadata']> = {}): StoredPool {
  return {
    apiVersion: 'drover.dev/v1alpha1',
    kind: 'VirtualMachinePool',
    metadata: { name: 'web', namespace: 'shop', uid: 'pool-uid', generation: 1, finalizers: [POOL_FINALIZER], ...metadata },
    spec: { replicas: 3, template: { spec: { runStrategy: 'Always', template: { spec: { domain: {} } } } }, ...spec },
  };
}

export function aVm(name: string, fields: Partial<VmView> = {}): VmView {
  return {
    namespace: 'shop',
    name,
    uid: `uid-of-${name}`,
    resourceVersion: '1',
    owner: { kind: 'VirtualMachinePool', name: 'web', uid: 'pool-uid' },
    createdAt: 0,
    deleting: false,
    removing: false,
    labels: {},
    revision: null,
    runStrategy: 'Always',
    hasVmi: true,
    ready: true,
    state: 'Running',
    startFailures: 0,
    optedOut: false,
    restartRequired: null,
    changingState: false,
    snapshotting: false,
    ...fields,
  };
}

/** Any VM of the pool `web`, by its number. */
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
      labels: fc.record({ tier: fc.constantFrom('a', 'b') }, { requiredKeys: [] }),
    })
    .map((fields) => aVm(`web-${number}`, fields as Partial<VmView>));

export const anyFleet: fc.Arbitrary<VmView[]> = fc
  .uniqueArray(fc.integer({ min: 1, max: 40 }), { maxLength: 30 })
  .chain((numbers) => fc.tuple(...numbers.map(anyVm)));
