import fc from 'fast-check';
import { claimOf } from '../../../api/claims/claim.ts';
import type { OperationAction, OperationSpec } from '../../../api/operations/operation.ts';
import {
  ClusterVirtualMachineOperations,
  Leases,
  Namespaces,
  VirtualMachineOperations,
} from '../../../api/resources.ts';
import { operationResource } from '../../../decisions/operations/ref.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import { watched } from '../guarantees/watch.ts';
import { aSpec, aTemplate } from '../pools.ts';
import { NAMESPACE } from '../world/names.ts';
import { World } from '../world/world.ts';
import { ScopeGuarantees } from './guarantee.ts';

const HOUR_MS = 3_600_000;
/** A pool is in the first of them, and VMs that no pool has are in all. */
const NAMESPACES = [NAMESPACE, 'bank', 'club'] as const;
const VMS_IN_EACH = 2;
const REPLICAS = 4;
const TIER = { tier: 'gold' };

type Where =
  | { in: 'its own'; namespace: number }
  | { in: 'all' | 'those it selects' }
  | { in: 'one'; namespace: number };

type Happening = { after: number } & (
  | { what: 'operation'; where: Where; action: OperationAction; atOnce: number }
  | { what: 'template'; version: number }
  | { what: 'label' | 'claim'; namespace: number; isOn: boolean }
  | { what: 'kill' }
  | { what: 'freeze'; ms: number }
  | { what: 'end'; workflow: number }
  | { what: 'pause' | 'abort' | 'delete'; operation: number; isOn: boolean }
);

interface ScopeScenario {
  seed: number;
  maxUnavailable: number;
  /** The namespace that is left to others at first. */
  left: number;
  happenings: Happening[];
}

const namespace = fc.nat(NAMESPACES.length - 1);
const where: fc.Arbitrary<Where> = fc.oneof(
  fc.record({ in: fc.constant('its own' as const), namespace }),
  fc.record({ in: fc.constantFrom('all' as const, 'those it selects' as const) }),
  fc.record({ in: fc.constant('one' as const), namespace }),
);
const operation = fc.record({
  what: fc.constant('operation' as const),
  where,
  action: fc.constantFrom<OperationAction[]>('Restart', 'Restart', 'Restart', 'Stop', 'Start'),
  atOnce: fc.integer({ min: 1, max: 3 }),
});
const happening = fc.oneof(
  { weight: 4, arbitrary: operation },
  {
    weight: 2,
    arbitrary: fc.record({ what: fc.constant('template' as const), version: fc.integer({ min: 2, max: 4 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constantFrom('label' as const, 'claim' as const),
      namespace,
      isOn: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('kill' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ what: fc.constant('freeze' as const), ms: fc.integer({ min: 1_000, max: 30_000 }) }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('end' as const), workflow: fc.nat(20) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constantFrom('pause' as const, 'abort' as const, 'delete' as const),
      operation: fc.nat(5),
      isOn: fc.boolean(),
    }),
  },
);

export const anyScope: fc.Arbitrary<ScopeScenario> = fc.record({
  seed: fc.nat(),
  maxUnavailable: fc.integer({ min: 1, max: 2 }),
  left: namespace,
  happenings: fc.array(
    fc.tuple(happening, fc.integer({ min: 0, max: 8_000 })).map(([one, after]) => ({ ...one, after })),
    { minLength: 6, maxLength: 14 },
  ),
});

/**
 * Plays operations of namespaces and of the cluster, a pool, and namespaces that are left to others and given back.
 * Throws `Broken` if a guarantee is broken, or if an operation does not end once all is in order.
 */
export async function playScopes({ seed, maxUnavailable, left, happenings }: ScopeScenario): Promise<World> {
  const world = new World({ seed, operations: true });
  const scopes = new ScopeGuarantees(world, []);
  world.onlookers.push(scopes);
  const live = async (): Promise<void> => {
    for (const [index, name] of NAMESPACES.entries())
      world.server.create(Namespaces, { metadata: { name, labels: index === 1 ? TIER : {} } });
    for (const name of NAMESPACES)
      for (let number = 1; number <= VMS_IN_EACH; number++)
        await world.people.createVm(`${name}-${number}`, { stopMs: 2_000 }, name);
    await world.people.createPool('web', aSpec({ replicas: REPLICAS, maxUnavailable }));
    await world.wait(15_000);
    await happen(world, { what: 'claim', namespace: left, isOn: true, after: 0 }, scopes);
    for (const one of happenings) {
      await world.wait(one.after);
      await happen(world, one, scopes);
    }
    await settle(world);
  };
  await world.run(4 * HOUR_MS, watched(world, live));
  return world;
}

async function happen(world: World, happening: Happening, scopes: ScopeGuarantees): Promise<void> {
  switch (happening.what) {
    case 'operation':
      return ask(world, happening);
    case 'template':
      return world.people.changePool('web', { template: aTemplate({ version: happening.version, stopMs: 2_000 }) });
    case 'label':
      return label(world, NAMESPACES[happening.namespace]!, happening.isOn);
    case 'claim':
      claim(world, NAMESPACES[happening.namespace]!, happening.isOn);
      await world.wait(500);
      // Something to do everywhere, so that what is left to others shows.
      return ask(world, { where: { in: 'all' }, action: 'Restart', atOnce: 3 });
    case 'kill':
    case 'freeze':
      return disturb(world, happening, scopes);
    case 'end':
      return end(world, happening.workflow);
    case 'pause':
    case 'abort':
    case 'delete':
      return steer(world, happening);
  }
}

type Asked = Pick<Extract<Happening, { what: 'operation' }>, 'where' | 'action' | 'atOnce'>;

/** Makes an operation, as `drover vm restart|stop|start` does. */
function ask(world: World, { where, action, atOnce }: Asked): void {
  const spec = { action, vms: { selector: {} }, atOnce, maxFailures: 1, deadline: '1m' };
  const isNamespaced = where.in === 'its own';
  const resource = isNamespaced ? VirtualMachineOperations : ClusterVirtualMachineOperations;
  const at = 'namespace' in where ? NAMESPACES[where.namespace]! : undefined;
  const made = world.server.create(resource, {
    metadata: { ...(isNamespaced ? { namespace: at! } : {}), generateName: 'op-' },
    spec: {
      ...spec,
      ...(where.in === 'one' ? { namespaces: [at] } : {}),
      ...(where.in === 'those it selects' ? { namespaceSelector: { matchLabels: TIER } } : {}),
    },
  });
  world.say(`-- ${action} ${made.metadata.name} of ${JSON.stringify(where)}, ${atOnce} at once`);
}

function label(world: World, name: string, isOn: boolean): void {
  world.say(`-- namespace ${name} is ${isOn ? '' : 'not '}labelled`);
  world.server.write(Namespaces, { name }, (before) => ({
    ...before,
    metadata: { ...before.metadata, labels: isOn ? TIER : {} },
  }));
}

/** Leaves a namespace to workers of its own, of which the model has none, or gives it back. */
function claim(world: World, namespace: string, isOn: boolean): void {
  const { metadata, ...lease } = claimOf(namespace, 'others');
  if ((world.server.find(Leases, metadata) !== undefined) === isOn) return;
  world.say(`-- namespace ${namespace} is ${isOn ? 'left to others' : 'given back'}`);
  if (isOn) world.server.create(Leases, { metadata, ...lease });
  else world.server.delete(Leases, { namespace, name: metadata.name }, {});
}

function disturb(
  world: World,
  happening: Extract<Happening, { what: 'kill' | 'freeze' }>,
  scopes: ScopeGuarantees,
): void {
  const worker = world.workers.find(({ process }) => process.state === 'running');
  if (worker === undefined) return;
  if (happening.what === 'kill') {
    world.kill(worker);
    void world.wait(10_000).then(() => world.addWorker());
  } else {
    world.freeze(worker);
    void world.wait(happening.ms).then(() => {
      world.thaw(worker);
      scopes.hearsLate();
    });
  }
}

/** Ends the workflow of an operation in Temporal's Web UI. A worker begins it anew, and it continues. */
function end(world: World, number: number): void {
  const open = [...world.temporal.runs.values()].filter(({ isOpen, type }) => isOpen && type === 'operation');
  const run = open[number % Math.max(open.length, 1)];
  if (run === undefined) return;
  world.say(`-- ${run.id} is terminated`);
  world.temporal.terminate(run.id);
}

function operationsIn(world: World): StoredOperation[] {
  const kinds = [VirtualMachineOperations, ClusterVirtualMachineOperations];
  return kinds.flatMap((kind) => world.server.all(kind)) as unknown as StoredOperation[];
}

function steer(
  world: World,
  { what, operation, isOn }: Extract<Happening, { what: 'pause' | 'abort' | 'delete' }>,
): void {
  const open = operationsIn(world).filter(({ status }) => status?.completionTime === undefined);
  const one = open[operation % Math.max(open.length, 1)];
  if (one === undefined) return;
  world.say(`-- ${what} ${one.metadata.name}${what === 'pause' ? `: ${isOn}` : ''}`);
  const resource = operationResource(one.metadata);
  if (what === 'delete') return void world.server.delete(resource, one.metadata, {});
  const change = what === 'pause' ? { paused: isOn } : { aborted: true };
  set(world, one, change);
}

function set(world: World, { metadata }: StoredOperation, change: Partial<OperationSpec>): void {
  world.server.write(operationResource(metadata), { namespace: metadata.namespace, name: metadata.name }, (before) => ({
    ...before,
    spec: { ...(before['spec'] as object), ...change },
  }));
}

/** Gives all namespaces back, and resumes all: each operation must end then, and the pool get as it is wanted. */
async function settle(world: World): Promise<void> {
  for (const name of NAMESPACES) claim(world, name, false);
  await world.wait(40_000);
  const open = (): StoredOperation[] =>
    operationsIn(world).filter(({ status }) => status?.completionTime === undefined);
  for (const one of open()) set(world, one, { paused: false });
  if (!(await world.until(() => open().length === 0, HOUR_MS)))
    world.break(
      `G37: operations do not end: ${JSON.stringify(open().map(({ metadata, status }) => [metadata.name, status]))}`,
    );
  for (const { metadata } of world.vms)
    if (metadata.name.startsWith('web-')) await world.people.power(metadata.name, 'start');
  const isUpdated = (): boolean => {
    const { status } = world.pool('web')!;
    return status?.readyReplicas === REPLICAS && status.updatedReplicas === REPLICAS;
  };
  if (!(await world.until(isUpdated, HOUR_MS)))
    world.break(`G12: web is not updated: ${JSON.stringify(world.pool('web')!.status)}`);
}
