import { controllerOf, type Stored } from '../../api/objects.ts';
import { VirtualMachinePools, VirtualMachines } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ListWatch } from '../../kubernetes/list-watch.ts';
import { Failure, throwAll } from '../cli/failure.ts';
import { note } from '../cli/output.ts';
import type { GoingPool } from './delete.ts';

const REMARK_MS = 2_000;

/**
 * Waits until these pools are deleted, and notes on stderr how many of their VMs are left meanwhile. Throws `Failure`
 * for pools that still exist when the time is over.
 */
export async function untilGone(kube: KubeClient, pools: GoingPool[], timeoutMs?: number): Promise<void> {
  // By namespace: a user who may delete a pool may not be allowed to watch all namespaces.
  const waits = [...Map.groupBy(pools, ({ namespace }) => namespace)].map(([namespace, ofOne]) =>
    untilGoneIn(kube, namespace, new Map(ofOne.map(({ name, uid }) => [name, uid])), timeoutMs),
  );
  const ends = await Promise.allSettled(waits);
  throwAll(ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : [])));
}

async function untilGoneIn(
  kube: KubeClient,
  namespace: string,
  uids: Map<string, string>,
  timeoutMs?: number,
): Promise<void> {
  const left = new Set(uids.values());
  const gone = Promise.withResolvers<void>();
  const check = (): void => {
    if (left.size === 0) gone.resolve();
  };
  const pools = new ListWatch<Stored, string>({
    client: kube,
    resource: VirtualMachinePools,
    namespace,
    view: ({ metadata }) => metadata.uid,
    onChange: (_key, before, after) => {
      if (before !== undefined && before !== after) left.delete(before);
      check();
    },
  }).start();
  const vms = new ListWatch<Stored, string>({
    client: kube,
    resource: VirtualMachines,
    namespace,
    view: (vm) => controllerOf(vm)?.uid ?? '',
  }).start();
  const remarks = setInterval(() => remark(uids, left, vms), REMARK_MS);
  let timer: NodeJS.Timeout | undefined;
  if (timeoutMs !== undefined && timeoutMs > 0) {
    timer = setTimeout(
      () =>
        gone.reject(
          new Failure(`still there after ${timeoutMs / 1000} s: ${namesOf(uids, left)}; drover goes on taking it down`),
        ),
      timeoutMs,
    );
  }
  try {
    await pools.ready();
    const present = new Set(pools.values());
    for (const uid of left) if (!present.has(uid)) left.delete(uid);
    check();
    await gone.promise;
  } finally {
    clearInterval(remarks);
    clearTimeout(timer);
    await Promise.all([pools.stop(), vms.stop()]);
  }
}

const namesOf = (uids: Map<string, string>, left: Set<string>): string =>
  [...uids]
    .filter(([, uid]) => left.has(uid))
    .map(([name]) => `pool ${name}`)
    .join(', ');

function remark(uids: Map<string, string>, left: Set<string>, vms: ListWatch<Stored, string>): void {
  const counts = new Map<string, number>();
  for (const owner of vms.values()) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  for (const [name, uid] of uids) if (left.has(uid)) note(`pool ${name}: ${counts.get(uid) ?? 0} VMs left`);
}
