import { controllerOf, type Stored } from '../../api/objects.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ListWatch } from '../../kubernetes/list-watch.ts';
import { Failure, throwAll } from '../cli/failure.ts';
import { countOf } from '../cli/kinds.ts';
import { printNote } from '../cli/print.ts';
import { inTime, watchUntil } from '../cli/watch-until.ts';
import type { GoingOwner } from './delete.ts';

const PROGRESS_MS = 2_000;

/**
 * Waits until these objects are deleted, and notes on stderr how many of their members are left meanwhile. Throws
 * `Failure` for objects that still exist when the time is over.
 */
export async function waitForDeletion(kube: KubeClient, owners: GoingOwner[], timeoutMs?: number): Promise<void> {
  // By namespace: a user who may delete a pool may not be allowed to watch all namespaces.
  const groups = Map.groupBy(owners, ({ kind, namespace }) => `${kind.resource.kind}/${namespace}`);
  const ends = await Promise.allSettled([...groups.values()].map((group) => waitForAll(kube, group, timeoutMs)));
  throwAll(ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : [])));
}

/** All of one kind in one namespace. */
async function waitForAll(kube: KubeClient, going: readonly GoingOwner[], timeoutMs = 0): Promise<void> {
  const { kind, namespace } = going[0]!;
  let remaining = going;
  const members = new ListWatch<Stored, string>({
    client: kube,
    resource: kind.members.resource,
    namespace,
    view: (member) => controllerOf(member)?.uid ?? '',
  }).start();
  const timer = setInterval(() => {
    const counts = Map.groupBy(members.values(), (owner) => owner);
    for (const { name, uid } of remaining)
      printNote(`${kind.noun} ${name}: ${countOf(kind, counts.get(uid)?.length ?? 0)} left`);
  }, PROGRESS_MS);
  try {
    const isGone = await inTime(timeoutMs, (signal) =>
      watchUntil({ kube, resource: kind.resource, namespace, signal }, (present) => {
        remaining = going.filter(({ uid }) => present.has(uid));
        return remaining.length === 0;
      }),
    );
    const names = remaining.map(({ name }) => `${kind.noun} ${name}`).join(', ');
    if (!isGone)
      throw new Failure(`still there after ${timeoutMs / 1000} s: ${names}; drover continues to take it down`);
  } finally {
    clearInterval(timer);
    await members.stop();
  }
}
