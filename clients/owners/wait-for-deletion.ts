import { controllerOf, type Stored } from '../../api/objects.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ListWatch } from '../../kubernetes/list-watch.ts';
import { Failure, throwAll } from '../cli/failure.ts';
import { countOf, type OwnerKind } from '../cli/kinds.ts';
import { note } from '../cli/output.ts';
import type { GoingOwner } from './delete.ts';

const REMARK_MS = 2_000;

/** Objects of one kind in one namespace that are being deleted, by their names. */
interface Going {
  kind: OwnerKind;
  namespace: string;
  uids: Map<string, string>;
}

/**
 * Waits until these objects are deleted, and notes on stderr how many of their members are left meanwhile. Throws
 * `Failure` for those that still exist when the time is over.
 */
export async function waitForDeletion(kube: KubeClient, owners: GoingOwner[], timeoutMs?: number): Promise<void> {
  // By namespace: a user who may delete a pool may not be allowed to watch all namespaces.
  const groups = Map.groupBy(owners, ({ kind, namespace }) => `${kind.resource.kind}/${namespace}`);
  const waits = [...groups.values()].map((group) => {
    const { kind, namespace } = group[0]!;
    return waitForDeletionIn(
      kube,
      { kind, namespace, uids: new Map(group.map(({ name, uid }) => [name, uid])) },
      timeoutMs,
    );
  });
  const ends = await Promise.allSettled(waits);
  throwAll(ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : [])));
}

async function waitForDeletionIn(kube: KubeClient, going: Going, timeoutMs?: number): Promise<void> {
  const { kind, namespace, uids } = going;
  const left = new Set(uids.values());
  const gone = Promise.withResolvers<void>();
  // It may be rejected before it is awaited.
  gone.promise.catch(() => {});
  const check = (): void => {
    if (left.size === 0) gone.resolve();
  };
  const owners = new ListWatch<Stored, string>({
    client: kube,
    resource: kind.resource,
    namespace,
    view: ({ metadata }) => metadata.uid,
    onChange: (_key, before, after) => {
      if (before !== undefined && before !== after) left.delete(before);
      check();
    },
  }).start();
  const members = new ListWatch<Stored, string>({
    client: kube,
    resource: kind.members.resource,
    namespace,
    view: (member) => controllerOf(member)?.uid ?? '',
  }).start();
  const remarks = setInterval(() => remark(going, left, members), REMARK_MS);
  let timer: NodeJS.Timeout | undefined;
  if (timeoutMs !== undefined && timeoutMs > 0) {
    timer = setTimeout(
      () =>
        gone.reject(
          new Failure(
            `still there after ${timeoutMs / 1000} s: ${namesOf(going, left)}; drover goes on taking it down`,
          ),
        ),
      timeoutMs,
    );
  }
  try {
    await owners.ready();
    const present = new Set(owners.values());
    for (const uid of left) if (!present.has(uid)) left.delete(uid);
    check();
    await gone.promise;
  } finally {
    clearInterval(remarks);
    clearTimeout(timer);
    await Promise.all([owners.stop(), members.stop()]);
  }
}

const namesOf = ({ kind, uids }: Going, left: Set<string>): string =>
  [...uids]
    .filter(([, uid]) => left.has(uid))
    .map(([name]) => `${kind.noun} ${name}`)
    .join(', ');

function remark({ kind, uids }: Going, left: Set<string>, members: ListWatch<Stored, string>): void {
  const counts = new Map<string, number>();
  for (const owner of members.values()) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  for (const [name, uid] of uids)
    if (left.has(uid)) note(`${kind.noun} ${name}: ${countOf(kind, counts.get(uid) ?? 0)} left`);
}
