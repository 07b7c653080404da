import { POOL_LABEL, REVISION_LABEL } from '../../api/labels-and-annotations.ts';
import type { Stored } from '../../api/objects.ts';
import { VirtualMachineInstances, VirtualMachinePools } from '../../api/resources.ts';
import { membershipChangeOf, unfinished } from '../../decisions/membership/change.ts';
import {
  MEMBERSHIP_REQUESTS,
  MOST_MOVED,
  type MembershipRequest,
} from '../../decisions/membership/membership-request.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import { Failure } from '../cli/failure.ts';
import { Vms } from '../cli/kinds.ts';
import type { DryRun } from '../cli/parse-values.ts';
import { printNote, print, labelOf } from '../cli/print.ts';
import { followPool, requestOfPool, unanswered, type RequestChannel } from '../pool/request.ts';
import type { Session } from '../session/session.ts';
import { missingWorkers } from '../session/workers.ts';
import { labelPods } from './controlled-vms.ts';

const MembershipChannel: RequestChannel = {
  names: MEMBERSHIP_REQUESTS,
  handledIn: ({ status }) => status?.membership?.handledRequests,
  isOneAtATime: true,
};

export interface PoolAt {
  namespace: string;
  name: string;
}

/** How long to wait for a worker, in milliseconds. */
export interface WaitOptions {
  timeout: number;
}

export interface HandoverOptions extends WaitOptions {
  dryRun: DryRun;
}

/** Returns the pool; undefined if there is none. */
export const poolAt = (kube: KubeClient, key: PoolAt): Promise<Stored<Pool> | undefined> =>
  ignoreNotFound(kube.get<Pool>(VirtualMachinePools, key));

/** Returns the pool. Throws `Failure` if it is being deleted, taken over or released, and an error if there is none. */
export async function poolForRequest(kube: KubeClient, key: PoolAt): Promise<Stored<Pool>> {
  const pool = await kube.get<Pool>(VirtualMachinePools, key);
  if (pool.metadata.deletionTimestamp !== undefined) throw new Failure(`pool ${key.name} is being deleted`);
  const change = membershipChangeOf(pool);
  if (change !== null) throw new Failure(unfinished(key.name, change));
  return pool;
}

/**
 * Has a worker move all VMs of a pool, from a KubeVirt pool or to one, and prints each VM that has moved. Returns how
 * many have, in words. Throws `Failure` if not all move.
 */
export async function requestHandover(
  session: Session,
  given: Stored<Pool>,
  body: MembershipRequest,
  { timeout }: WaitOptions,
): Promise<string> {
  const kube = await session.kube();
  const { namespace = '' } = given.metadata;
  const what = body.action === 'takeover' ? 'take over the VMs of the pool of KubeVirt' : 'release its VMs';
  const pool = await knownPool(session, given, timeout);
  const request = { ...MembershipChannel, body, what };
  const { answer } = await requestOfPool(session, pool, request, { dryRun: 'none', timeout });
  const { vms = [], message } = answer!;
  await labelPodsOf(kube, namespace, vms);
  for (const vm of vms) print(`${labelOf(Vms.resource, vm)} ${body.action === 'takeover' ? 'taken over' : 'released'}`);
  printMore(message);
  return vms.length < MOST_MOVED ? `${vms.length} VMs` : `${MOST_MOVED} VMs or more`;
}

/** An answer names the VMs that have moved; what it says beyond that is for the user to act on. */
function printMore(message: string): void {
  const [, ...more] = message.split('; ');
  if (more.length > 0) printNote(more.join('; '));
}

/** Whether a request stands on the pool without an answer. */
export const hasOpenRequest = (pool: Pool): boolean => unanswered(pool, MembershipChannel) !== undefined;

/** Returns the pool once a worker has looked at it: a new pool refuses any request. */
async function knownPool(session: Session, pool: Stored<Pool>, timeout: number): Promise<Stored<Pool>> {
  return followPool(
    { kube: await session.kube(), pool, timeout },
    ({ status }) => status?.rollout !== undefined,
    async () => {
      const message =
        (await missingWorkers(session, pool.metadata.namespace)) ??
        `no worker has looked at it within ${timeout / 1000} s`;
      return `pool ${pool.metadata.name} stays on hold; run this command again to continue: ${message}`;
    },
  );
}

/** A worker has no rights on pods: the user may have. An autoscaler counts by them. */
export async function labelPodsOf(kube: KubeClient, namespace: string, vms: readonly string[]): Promise<void> {
  for (const name of vms) {
    const vmi = await ignoreNotFound(kube.get(VirtualMachineInstances, { namespace, name })).catch(() => undefined);
    if (vmi === undefined) continue;
    const { uid, labels = {} } = vmi.metadata;
    const gone = { [POOL_LABEL]: null, [REVISION_LABEL]: null };
    if (!(await labelPods(kube, { namespace, uid }, { ...gone, ...labels }))) return;
  }
}
