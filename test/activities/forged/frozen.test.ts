import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { DO_NOT_DISRUPT_ANNOTATION, ORPHAN_FINALIZER, POOL_FINALIZER } from '../../../api/labels-and-annotations.ts';
import type { KubeObject } from '../../../api/objects.ts';
import {
  VirtualMachineInstanceReplicaSets,
  VirtualMachinePools,
  VirtualMachineReplicaSets,
  VirtualMachines,
  type Resource,
} from '../../../api/resources.ts';
import { POWER, TABLE } from './table.ts';
import { keyOf, SHOP, World, type ActivityName } from './world.ts';

type Make = (world: World) => () => readonly unknown[];
type Withdraw = (world: World) => void;

const change =
  (resource: Resource, name: string, to: (object: KubeObject) => KubeObject): Withdraw =>
  ({ server }) =>
    void server.write(resource, { namespace: SHOP, name }, to);
const metadata =
  (of: object) =>
  (object: KubeObject): KubeObject => ({ ...object, metadata: { ...object.metadata, ...of } });
const spec =
  (of: object) =>
  (object: KubeObject): KubeObject => ({ ...object, spec: { ...(object['spec'] as object), ...of } });
const pool = (to: (object: KubeObject) => KubeObject): Withdraw => change(VirtualMachinePools, 'web', to);
const optsOut = (vm: string): Withdraw =>
  change(VirtualMachines, vm, metadata({ annotations: { [DO_NOT_DISRUPT_ANNOTATION]: 'true' } }));

const scaledOut = pool(spec({ replicas: 7 }));
const keepsVms = pool(metadata({ finalizers: [POOL_FINALIZER, ORPHAN_FINALIZER] }));

/** By activity and cause: what is asked for in vain, as the worker continues. Its own version is no precondition. */
const WITHDRAWN: Record<string, Withdraw> = {
  'changePower: a VM that its operation names': optsOut('db'),
  'changePower: a VM that its operation stops': optsOut('db'),
  'followTransition: a VM whose VMI has the old type still': optsOut('old-1'),
  'deleteVms: Surplus': scaledOut,
  'deleteVms: SurplusHalted': scaledOut,
  'deleteVms: StandbySurplus': scaledOut,
  'deleteVms: Named': pool(metadata({ annotations: {} })),
  'deleteVms: Annotated': keepsVms,
  'deleteVms: OwnerDeleted': keepsVms,
  'deleteVms: Ended': ({ server }) =>
    void server.delete(VirtualMachineInstanceReplicaSets, { namespace: SHOP, name: 'rs' }),
  'deleteVms: Surge': ({ server }) => void server.delete(VirtualMachinePools, { namespace: SHOP, name: 'web' }),
  'haltVms: a VM that is too many': scaledOut,
  'releaseVms: a VM of a pool that is deleted without its VMs': pool(metadata({ finalizers: [POOL_FINALIZER] })),
  'releaseVms: a VM that a user detaches': pool(metadata({ annotations: {} })),
  'releaseVms: a member whose labels a set no longer selects': change(
    VirtualMachineReplicaSets,
    'rs',
    spec({ selector: { matchLabels: { app: 'another' } } }),
  ),
  'adoptVms: a VM of nobody that the selector matches': change(
    VirtualMachineReplicaSets,
    'rs',
    spec({ selector: { matchLabels: { app: 'another' } } }),
  ),
  'removeUnhealthyVm: a VM whose starts fail': pool(spec({ autohealing: undefined })),
  'adoptReturnedVms: a VM that a backup has brought back': scaledOut,
  'setStandbyState: a standby VM that is to be stopped': scaledOut,
  'evacuateVms: a VM that is to leave its node': pool(spec({ drain: undefined })),
  'adoptNamedVms: a VM of no owner that its pool names': pool(metadata({ annotations: {} })),
  'deleteKeptDisks: a disk of a pool that keeps none any more': pool(
    spec({ scaleInStrategy: { proactive: { statePreservation: 'Offline' } } }),
  ),
  'removeVms: a VM whose disks its pool has replaced': scaledOut,
  'updateVms: a VM of another revision': optsOut('web-1'),
};

/** What the table of forged calls does not need. */
const MORE: Record<string, Make> = {
  'changePower: a VM that its operation stops': (world) => {
    const { metadata: vm } = world.other(SHOP, 'db');
    const operation = world.operation([vm.name], { action: 'Stop' });
    return () => [{ ...POWER, action: 'Stop', operation: keyOf(operation) }];
  },
};

function rowOf(title: string): { name: ActivityName; make: Make } {
  const [name = '', what = ''] = title.split(': ');
  const row = TABLE[name as ActivityName];
  return { name: name as ActivityName, make: MORE[title] ?? ('honest' in row ? row.honest : {})[what]! };
}

/** How long the worker has been suspended, in milliseconds. */
let frozenMs = 0;

beforeEach(() => {
  frozenMs = 0;
  const [day, process] = [Date.now.bind(Date), performance.now.bind(performance)];
  vi.spyOn(Date, 'now').mockImplementation(() => day() + frozenMs);
  vi.spyOn(performance, 'now').mockImplementation(() => process() + frozenMs);
});
afterEach(() => void vi.restoreAllMocks());

/** Suspends a worker for 1.5 s as it is about to send its first destructive request. */
async function suspended(title: string, meanwhile: Withdraw = () => {}): Promise<{ tried: string[]; sent: string[] }> {
  const { name, make } = rowOf(title);
  const world = new World();
  const args = make(world);
  await world.start();
  const tried: string[] = [];
  world.client.onDestructive = (what) => {
    if (tried.push(what) > 1) return;
    meanwhile(world);
    frozenMs += 1_500;
  };
  const writes = await world.written(name, args());
  return { tried, sent: writes.filter((write) => write === tried[0]) };
}

test.each(Object.keys(WITHDRAWN))('what a suspended worker still had to send is asked again: %s', async (title) => {
  const { tried, sent } = await suspended(title);
  expect({ tried, sent }).toEqual({ tried: [tried[0], tried[0]], sent: [tried[0]] });
});

test.each(Object.entries(WITHDRAWN))('what is no longer wanted is not sent: %s', async (title, withdraw) => {
  const { tried, sent } = await suspended(title, withdraw);
  expect({ tried, sent }).toEqual({ tried: [tried[0]], sent: [] });
});
