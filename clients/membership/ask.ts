import { POOL_LABEL, REVISION_LABEL } from '../../api/names.ts';
import type { Stored } from '../../api/objects.ts';
import { VirtualMachineInstances } from '../../api/resources.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { isListed, membershipChangeOf } from '../../decisions/membership/change.ts';
import { MEMBERSHIP_REQUESTS, MOST_MOVED, type MembershipRequest } from '../../decisions/requests/membership.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import { Failure } from '../cli/failure.ts';
import { Vms } from '../cli/kinds.ts';
import type { Pool } from '../cli/objects.ts';
import { print } from '../cli/output.ts';
import { labelOf } from '../cli/targets.ts';
import { requestOfPool, type RequestOptions, type RequestPlace } from '../pool/request.ts';
import type { Session } from '../session/session.ts';
import { poolToChange, unfinished, type PoolAt } from './change.ts';
import { labelPods, type Vm } from './members.ts';

const Place: RequestPlace = {
  names: MEMBERSHIP_REQUESTS,
  handledIn: ({ status }) => status?.membership?.handledRequests,
  isOneAtATime: true,
};

/** How VMs are to be moved, besides their names. */
export type Way = MembershipRequest extends infer R
  ? R extends MembershipRequest
    ? Omit<R, 'vms' | 'uids'>
    : never
  : never;

/** Returns the pool. Throws `Failure` if it is being deleted, taken over or released, and an error if there is none. */
export async function poolToAsk(kube: KubeClient, key: PoolAt): Promise<Stored<Pool>> {
  const pool = await poolToChange(kube, key);
  const change = membershipChangeOf(pool);
  if (change !== null && (change === 'unreadable' || !isListed(change))) throw unfinished(pool, change);
  return pool;
}

/** Throws `Failure` for more VMs than one request takes. */
export function checkCount(action: Way['action'], { length }: readonly unknown[]): void {
  if (length > MOST_MOVED)
    throw new Failure(`${length} VMs are too many for one ${action}: at most ${MOST_MOVED} at a time`);
}

/**
 * Asks a pool to adopt VMs, or to detach them, and says of each what a worker has done; in a dry run of the API server,
 * has that judge the request. Throws `Failure` if nothing was done, or not all.
 */
export async function askForMembers(
  session: Session,
  pool: Stored<Pool>,
  way: Way,
  vms: readonly Pick<Vm, 'metadata'>[],
  options: RequestOptions,
): Promise<void> {
  const { namespace = '', name } = pool.metadata;
  const names = vms.map(({ metadata }) => metadata.name);
  const asked: MembershipRequest = { ...way, vms: names, uids: vms.map(({ metadata }) => metadata.uid) };
  const what = `${way.action} ${formatNames(names)}`;
  const { answer } = await requestOfPool(session, pool, { ...Place, asked, what }, options);
  if (answer === null) return;
  const { vms: moved = [], message } = answer;
  await labelPodsOf(await session.kube(), namespace, moved);
  for (const vm of moved) print(`${labelOf(Vms.resource, vm)} ${wordsOf(way.action, name)}`);
  if (moved.length < names.length) throw new Failure(message);
}

/** What is said of a VM that has moved. */
export const wordsOf = (action: Way['action'], pool: string): string =>
  action === 'adopt' ? `adopted by pool ${pool}` : `detached from pool ${pool}`;

/** A worker has no rights on pods: the user may have. An autoscaler counts by them. */
async function labelPodsOf(kube: KubeClient, namespace: string, vms: readonly string[]): Promise<void> {
  for (const name of vms) {
    const vmi = await ignoreNotFound(kube.get(VirtualMachineInstances, { namespace, name })).catch(() => undefined);
    if (vmi === undefined) continue;
    const { uid, labels = {} } = vmi.metadata;
    const gone = { [POOL_LABEL]: null, [REVISION_LABEL]: null };
    if (!(await labelPods(kube, { namespace, uid }, { ...gone, ...labels }))) return;
  }
}
