import type { Stored } from '../../api/objects.ts';
import { VirtualMachines } from '../../api/resources.ts';
import { formatPath } from '../../decisions/changes/edits.ts';
import type { RefusedShape } from '../../decisions/changes/refused.ts';
import type { Chosen } from '../../decisions/disruption-budget/restart-budget.ts';
import type { VirtualMachine } from '../../decisions/from-object/vm.ts';
import type { KubeClient, ObjectKey } from '../../kubernetes/client.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { NotAdmitted } from '../disruption-budget/claim.ts';
import { actOnVm } from '../disruption/act-on-vm.ts';
import { forEachConcurrently } from '../lib/for-each-concurrently.ts';
import { slowStart } from '../lib/slow-start.ts';
import { liveVm, type LiveVm } from '../owners/live-vm.ts';
import { MOST_SHAPES, VmChanger, type Change } from './vm-changer.ts';

/** All VMs of a namespace are listed if at least one of so many is chosen: one request in place of many reads. */
const LISTED_FOR_ONE = 10;

export interface TryShapesOptions {
  client: KubeClient;
  cache: ClusterCache;
  change: Change;
  /** The VMs, each by its UID. */
  chosen: Chosen;
  /** Whether the VM may be changed now. */
  isMeant: (vm: LiveVm) => boolean;
  /** Concurrent calls to the API server. */
  concurrency: number;
}

interface TriedShapes {
  shapes: number;
  /**
   * VMs whose change has none of these shapes: there are too many shapes, and each other one is tried before its first
   * VM.
   */
  untried: number;
  refused: RefusedShape[];
}

type Shape = Omit<RefusedShape, 'message'>;

/**
 * Makes a dry run of each shape that the change has, on one of its VMs, and writes nothing. Returns null if a VM tells
 * that it was changed already: then it is too late to hold anything up.
 */
export async function tryShapes(options: TryShapesOptions): Promise<TriedShapes | null> {
  const { client, cache, change, concurrency } = options;
  const changer = new VmChanger(client, cache, change);
  const shapes = new Map<string, Shape>();
  let untried = 0;
  let hasBegun = false;
  const add = async (live: LiveVm): Promise<void> => {
    hasBegun ||= live.vm.changes.some(({ id }) => id === change.record.id);
    const found = await changer.find(live);
    if (found instanceof NotAdmitted || found.is !== 'change') return;
    const known = shapes.get(found.shape);
    if (known !== undefined) known.vms++;
    else if (shapes.size === MOST_SHAPES) untried++;
    else {
      const { namespace, name } = live.vm;
      const paths = found.edits.map(({ path }) => formatPath(path));
      shapes.set(found.shape, { paths, vms: 1, tried: `${namespace}/${name}` });
    }
  };
  const namespaces = [...Map.groupBy(options.chosen.keys(), (key) => key.slice(0, key.indexOf('/')))];
  const sizes = new Map<string, number>();
  for (const { namespace } of cache.vms.values()) sizes.set(namespace, (sizes.get(namespace) ?? 0) + 1);
  const readIn = ([namespace, keys]: [string, string[]]): Promise<void> =>
    read(options, { namespace, keys, isListed: (sizes.get(namespace) ?? 0) <= keys.length * LISTED_FOR_ONE }, add);
  await slowStart(namespaces, readIn, { most: concurrency, atFirst: concurrency });
  if (hasBegun) return null;
  const trial = (shape: Shape) => refusalOf(options, changer, shape);
  return { shapes: shapes.size, untried, refused: await forEachConcurrently([...shapes.values()], trial, concurrency) };
}

/** Reads the chosen VMs of a namespace, and passes those on that may be changed now. */
async function read(
  { client, cache, chosen, isMeant }: TryShapesOptions,
  { namespace, keys, isListed }: { namespace: string; keys: string[]; isListed: boolean },
  add: (live: LiveVm) => Promise<void>,
): Promise<void> {
  const addIfMeant = async (stored: Stored<VirtualMachine> | undefined): Promise<void> => {
    if (stored === undefined || chosen.get(`${namespace}/${stored.metadata.name}`) !== stored.metadata.uid) return;
    const live = asCached(cache, stored);
    if (isMeant(live)) await add(live);
  };
  if (!isListed) for (const key of keys) await addIfMeant(await liveVm(client, keyOf(key)));
  else
    for await (const { items } of client.pages<VirtualMachine & Stored>(VirtualMachines, { namespace }))
      for (const stored of items) await addIfMeant(stored);
}

/** Returns null if the API server takes the change, or if the VM no longer needs the change. */
const refusalOf = (
  { client, cache }: TryShapesOptions,
  changer: VmChanger,
  shape: Shape,
): Promise<RefusedShape | null> =>
  actOnVm(
    async () => {
      const stored = await liveVm(client, keyOf(shape.tried));
      if (stored === undefined) return null;
      const live = asCached(cache, stored);
      const found = await changer.find(live);
      if (!(found instanceof NotAdmitted) && found.is === 'change') await changer.tryOut(live, found);
      return null;
    },
    ({ message }) => ({ ...shape, message }),
  );

function keyOf(key: string): ObjectKey & { namespace: string } {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name };
}

function asCached(cache: ClusterCache, stored: Stored<VirtualMachine>): LiveVm {
  const vm = cache.vmView(stored);
  return { stored, vm, vmi: cache.vmiOf(vm) };
}
