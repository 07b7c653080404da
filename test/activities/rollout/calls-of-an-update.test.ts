import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { DO_NOT_DISRUPT_ANNOTATION, POWER_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { Stored } from '../../../api/objects.ts';
import type { VmTemplate } from '../../../api/pool/pool.ts';
import { VirtualMachines } from '../../../api/resources.ts';
import type { UpdateOutcome } from '../../../decisions/owners/batch.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import type { PoolTemplate } from '../../../decisions/template/template.ts';
import { aTemplate } from '../../model/pools.ts';
import { callsTo } from '../forged/calls.ts';
import { keyOf, targetOf, virtualTime, World } from '../forged/world.ts';

beforeEach(virtualTime);
afterEach(() => void vi.useRealTimers());

type Texts = Record<string, string> | undefined;

interface Given {
  /** What the pool's template has in its metadata before and after. */
  annotations?: [before: Texts, after: Texts];
  /** Annotations that the VM has beside those. */
  own?: Record<string, string>;
  /** Called with the API server's world right before the VM is first written. */
  meanwhile?: (world: World, vm: Stored) => void;
}

interface Updated {
  outcomes: UpdateOutcome[];
  /** Calls to the API server until the VMI is deleted, or until the end. */
  calls: string[];
  /** The VM afterwards. */
  vm: Stored;
  isRestarted: boolean;
}

const annotated = (template: VmTemplate, annotations?: Record<string, string>): VmTemplate =>
  annotations === undefined ? template : { ...template, metadata: { annotations } };

/** KubeVirt observes the spec that the VM has by now. */
const observed = (world: World, vm: Stored): void =>
  void world.server.write(
    VirtualMachines,
    vm.metadata,
    (before) => ({
      ...before,
      status: { ...(before['status'] as object), desiredGeneration: before.metadata.generation },
    }),
    'status',
  );

/** Has a worker restart a VM that runs for another revision. */
async function updated({ annotations = [undefined, undefined], own = {}, meanwhile }: Given = {}): Promise<Updated> {
  const [before, after] = annotations;
  const world = new World();
  const [old, template] = [annotated(aTemplate(), before), annotated(aTemplate({ version: 2 }), after)];
  const pool = world.pool('web', { replicas: 1, template });
  world.revision(pool, 1, old);
  world.revision(pool, 2, template);
  const vm = world.vm({ ...pool, spec: { ...pool.spec, template: old } }, 1, { annotations: { ...before, ...own } });
  observed(world, vm);
  const [from, to] = [old, template].map((one) => revisionOf(one as PoolTemplate)) as [string, string];
  await world.start();
  const calls = callsTo(world.client);
  let isFirst = true;
  world.client.onWrite = (_verb, resource) => {
    if (resource !== VirtualMachines) return;
    if (isFirst) meanwhile?.(world, vm);
    isFirst = false;
    setImmediate(() => observed(world, vm));
  };
  const held = { ...targetOf(vm), act: 'restart', from, wasDown: false };
  const batch = { key: keyOf(pool), revision: to, n: 1, rollout: to, vms: [held], startedAt: 0, minVersions: {} };
  // No KubeVirt starts it again: it is late at once.
  const writes = await world.written('updateVms', [
    { ...batch, begun: [], minReadyMs: 0, deadlineMs: 1, mayFail: null },
  ]);
  expect(world.failure).toBeUndefined();
  const end = calls.indexOf('delete virtualmachineinstances web-1');
  return {
    outcomes: (world.answer as { outcomes: UpdateOutcome[] }).outcomes,
    calls: end < 0 ? calls : calls.slice(0, end + 1),
    vm: world.server.get(VirtualMachines, vm.metadata),
    isRestarted: writes.includes('delete virtualmachineinstances shop/web-1'),
  };
}

test('a VM that restarts for its revision costs four calls, of which VMs that begin together share the first', async () => {
  expect((await updated()).calls).toEqual([
    'patch virtualmachinepools web',
    'patch virtualmachines web-1',
    'get metadata of virtualmachines web-1',
    'delete virtualmachineinstances web-1',
  ]);
});

test('a VM that its owner takes out of disruption before a worker has heard of it stays as it is', async () => {
  const { outcomes, vm, isRestarted } = await updated({
    meanwhile: ({ server }, { metadata }) =>
      void server.write(VirtualMachines, metadata, (before) => ({
        ...before,
        metadata: { ...before.metadata, annotations: { [DO_NOT_DISRUPT_ANNOTATION]: 'true' } },
      })),
  });
  expect(outcomes).toMatchObject([{ end: 'Deferred', message: 'its owner opted out of disruption' }]);
  expect(vm['spec']).toMatchObject({ template: { spec: { domain: { cpu: { cores: 1 } } } } });
  expect(isRestarted).toBe(false);
});

test('what a user changes in a VM before a worker has heard of it stays', async () => {
  const { vm, isRestarted } = await updated({
    meanwhile: ({ server }, { metadata }) =>
      void server.write(VirtualMachines, metadata, (before) => ({
        ...before,
        metadata: { ...before.metadata, labels: { ...before.metadata.labels, mine: 'yes' } },
      })),
  });
  expect(vm.metadata.labels).toMatchObject({ mine: 'yes' });
  expect(isRestarted).toBe(true);
});

const LONG = 'x'.repeat(200);

test.each<[what: string, annotations: NonNullable<Given['annotations']>, after: Texts]>([
  ['come', [undefined, { note: LONG, short: 'b' }], { note: LONG, short: 'b' }],
  [
    'change',
    [
      { note: LONG, short: 'a' },
      { note: `${LONG}y`, short: 'a' },
    ],
    { note: `${LONG}y`, short: 'a' },
  ],
  ['go', [{ note: LONG, 'drover.dev/of-the-template': 'a', short: 'a' }, { short: 'a' }], { short: 'a' }],
  ['stay', [{ note: LONG }, { note: LONG }], { note: LONG }],
])('annotations of VMs that %s with their template do so, though a cache has them in part', async (_, given, after) => {
  const own = { [POWER_ANNOTATION]: '{}', theirs: LONG };
  const { vm } = await updated({ annotations: given, own });
  expect(vm.metadata.annotations).toEqual({ ...after, ...own });
});
