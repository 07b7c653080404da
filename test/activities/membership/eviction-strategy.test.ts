import { describe, expect, test } from 'vitest';
import './virtual-pauses.ts';
import {
  ADOPT_VMS_ANNOTATION,
  API_VERSION,
  ORPHAN_FINALIZER,
  POOL_FINALIZER,
  REMOVE_VMS_ANNOTATION,
  REVISION_LABEL,
} from '../../../api/labels-and-annotations.ts';
import type { KubeObject, Stored } from '../../../api/objects.ts';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import {
  KubeVirtPools,
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachines,
} from '../../../api/resources.ts';
import type { VirtualMachine } from '../../../decisions/from-object/vm.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { poolTemplate } from '../../../decisions/template/template.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import { aTemplate } from '../../model/pools.ts';
import { keyOf, SHOP, targetOf, World } from '../forged/world.ts';
import { Cluster, namespace, referenceTo } from './handover-cluster.ts';

const at = { namespace: SHOP, name: 'web-1' };
const vmOf = ({ server }: World): Stored<VirtualMachine> => server.find<VirtualMachine>(VirtualMachines, at)!;
const strategyOf = ({ spec }: KubeObject): unknown =>
  (spec as VirtualMachine['spec'])?.template?.spec?.evictionStrategy;
const poolOf = ({ server }: World): Stored & StoredPool =>
  server.find(VirtualMachinePools, { namespace: SHOP, name: 'web' }) as Stored & StoredPool;

const withStrategy = (evictionStrategy: string): PoolSpec['template'] => {
  const { spec } = aTemplate({ disk: 'root' });
  return { spec: { ...spec, template: { ...spec.template, spec: { ...spec.template.spec, evictionStrategy } } } };
};

/** A pool with one VM, as it has made that, which runs. */
function poolWith(world: World, spec: Partial<PoolSpec>, metadata: object = {}): Stored {
  const pool = world.pool('web', { replicas: 1, ...spec }, metadata);
  const made = { ...pool, spec: { ...pool.spec, template: poolTemplate(pool.spec) } } as Stored & StoredPool;
  const vm = world.vm(made, 1);
  const { evictionStrategy } = made.spec.template.spec.template.spec ?? {};
  world.server.write(VirtualMachineInstances, at, (vmi) => ({
    ...vmi,
    spec: { ...(vmi['spec'] as object), evictionStrategy },
  }));
  return vm;
}

const annotate = (world: World, annotations: object): unknown =>
  world.server.write(VirtualMachinePools, { namespace: SHOP, name: 'web' }, ({ metadata, ...pool }) => ({
    ...pool,
    metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } },
  }));

async function adopted(world: World): Promise<void> {
  const { name, uid } = vmOf(world).metadata;
  annotate(world, { [ADOPT_VMS_ANNOTATION]: JSON.stringify({ [name]: uid }) });
  await world.written('adoptNamedVms', [keyOf(poolOf(world)), [{ name, uid }]]);
}

const takeOff = (world: World): unknown =>
  world.server.write(VirtualMachines, at, ({ metadata, ...vm }) => ({
    ...vm,
    metadata: { ...metadata, ownerReferences: [] },
  }));

/** Ways by which the VM leaves the pool. */
const WAYS: Record<string, (world: World) => Promise<unknown>> = {
  detached: async (world) => {
    const { metadata } = vmOf(world);
    annotate(world, { [REMOVE_VMS_ANNOTATION]: JSON.stringify({ 'web-1': { uid: metadata.uid, keep: true } }) });
    await world.start();
    await world.written('releaseVms', [keyOf(poolOf(world)), [targetOf(vmOf(world))], 'Named']);
  },
  'taken out by hand': async (world) => {
    takeOff(world);
    await world.start();
    await world.written('unlabelVms', [keyOf(poolOf(world)), [targetOf(vmOf(world))]]);
  },
  orphaned: async (world) => {
    world.server.delete(VirtualMachinePools, { namespace: SHOP, name: 'web' }, { propagationPolicy: 'Orphan' });
    await world.start();
    await world.written('releaseVms', [keyOf(poolOf(world)), [targetOf(vmOf(world))]]);
  },
};
const METADATA = { finalizers: [POOL_FINALIZER, ORPHAN_FINALIZER] };
const LEFT = 'until they restart, web-1 keep the eviction strategy External';

describe.each(Object.entries(WAYS))('a VM that is %s', (way, leave) => {
  const left = async (spec: Partial<PoolSpec>, change: (world: World) => void = () => {}): Promise<World> => {
    const world = new World();
    poolWith(world, spec, METADATA);
    change(world);
    await leave(world);
    expect(vmOf(world).metadata.ownerReferences).toEqual([]);
    return world;
  };

  test('has the eviction strategy that its template has without drain, and the user is told what still runs', async () => {
    const world = await left({ drain: {} });
    expect(strategyOf(vmOf(world))).toBeUndefined();
    expect(JSON.stringify([world.answer, world.client.events])).toContain(LEFT);
  });

  test('keeps the strategy of its template', async () => {
    for (const strategy of ['External', 'None'])
      expect(strategyOf(vmOf(await left({ drain: {}, template: withStrategy(strategy) })))).toBe(strategy);
  });

  test('keeps a strategy that a user has given it', async () => {
    const world = await left({}, ({ server }) =>
      server.write(VirtualMachines, at, (vm) => ({ ...vm, spec: withStrategy('External').spec })),
    );
    expect(strategyOf(vmOf(world))).toBe('External');
  });

  test('loses that of an earlier template with drain, which no rollout has taken back yet', async () => {
    const world = await left({ drain: {} }, ({ server }) =>
      server.write(VirtualMachinePools, { namespace: SHOP, name: 'web' }, ({ spec, ...pool }) => {
        const { drain: _drain, ...rest } = spec as PoolSpec;
        return { ...pool, spec: rest };
      }),
    );
    expect(strategyOf(vmOf(world))).toBeUndefined();
  });

  test.skipIf(way === 'orphaned')('gets it again as it comes back, and nothing restarts', async () => {
    const world = await left({ drain: {} });
    const newest = revisionOf(poolTemplate(poolOf(world).spec));
    await adopted(world);
    expect([strategyOf(vmOf(world)), vmOf(world).metadata.labels]).toEqual([
      'External',
      expect.objectContaining({ [REVISION_LABEL]: newest }),
    ]);
    expect(world.server.get(VirtualMachineInstances, at).metadata.labels).toMatchObject({ [REVISION_LABEL]: newest });
  });

  test.skipIf(way === 'orphaned').each(['adopt', 'by hand'])(
    'is to restart if its VMI has started meanwhile, and it comes back (%s)',
    async (how) => {
      const world = await left({ drain: {} });
      const vmi = world.server.get(VirtualMachineInstances, at);
      world.server.write(
        VirtualMachineInstances,
        at,
        ({ metadata: { annotations: _annotations, ...metadata }, ...rest }) => ({
          ...rest,
          metadata: { ...metadata, labels: {} },
          spec: { ...(vmi['spec'] as object), evictionStrategy: 'LiveMigrate' },
        }),
      );
      if (how === 'adopt') await adopted(world);
      else {
        const pool = poolOf(world);
        const ownerReferences = [referenceTo({ ...pool, apiVersion: API_VERSION, kind: VirtualMachinePools.kind })];
        world.server.write(VirtualMachines, at, ({ metadata, ...vm }) => ({
          ...vm,
          metadata: { ...metadata, ownerReferences },
        }));
        await world.written('labelVms', [keyOf(pool), [targetOf(vmOf(world))]]);
      }
      expect(strategyOf(vmOf(world))).toBe('External');
      expect(vmOf(world).metadata.labels).toHaveProperty([REVISION_LABEL]);
      expect(world.server.get(VirtualMachineInstances, at).metadata.labels).not.toHaveProperty([REVISION_LABEL]);
    },
  );
});

test('a VM that goes to a KubeVirt pool has the strategy of its template, and the answer names what still runs', async () => {
  const cluster = new Cluster();
  const { spec } = cluster.pool('web-1');
  cluster.server.write(VirtualMachinePools, { namespace, name: 'web' }, (pool) => ({
    ...pool,
    spec: { ...(spec as object), drain: {} },
  }));
  const vm = cluster.server.write(VirtualMachines, { namespace, name: 'web-1' }, ({ spec: of, ...rest }) => {
    const { template, ...more } = of as { template: { spec: object } };
    return {
      ...rest,
      spec: { ...more, template: { ...template, spec: { ...template.spec, evictionStrategy: 'External' } } },
    };
  });
  cluster.server.create(VirtualMachineInstances, {
    metadata: {
      namespace,
      name: 'web-1',
      ownerReferences: [referenceTo({ ...vm, kind: 'VirtualMachine', apiVersion: 'kubevirt.io/v1' })],
    },
    spec: { domain: {}, evictionStrategy: 'External' },
  });
  const report = await cluster.release();
  expect(report?.note).toContain(LEFT);
  expect(cluster.membersOf(cluster.find(KubeVirtPools)!)).toEqual(['web-1']);
  expect(strategyOf(cluster.find(VirtualMachines, 'web-1')!)).toBeUndefined();
});
