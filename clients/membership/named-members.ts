import { VirtualMachines } from '../../api/resources.ts';
import type { Vm } from '../../decisions/membership/moves.ts';
import { namedAmong, namedIn, type NamingAnnotation } from '../../decisions/views/annotations/named-vms.ts';
import { ifThere } from '../cli/failure.ts';
import { followPool } from '../pool/request.ts';
import type { Session } from '../session/session.ts';
import { missingWorkers } from '../session/workers.ts';
import { labelPodsOf, poolForRequest, type PoolAt } from './request-members.ts';

interface Waiting {
  /** Where the pool names the VMs until a worker is done with them. */
  annotation: NamingAnnotation;
  /** What the pool is asked to do with them. */
  verb: 'adopt' | 'detach';
  timeout: number;
}

/**
 * Waits until the pool no longer names these VMs. Returns each as it is then, undefined if it is gone; the pods of the
 * others have the labels of their VMIs by then. Throws `Failure` if no worker is done in time.
 */
export async function untilMembersMoved(
  session: Session,
  { namespace, name }: PoolAt,
  vms: readonly Vm[],
  { annotation, verb, timeout }: Waiting,
): Promise<(Vm | undefined)[]> {
  const kube = await session.kube();
  const members = vms.map(({ metadata }) => metadata);
  await followPool(
    { kube, pool: await poolForRequest(kube, { namespace, name }), timeout },
    ({ metadata }) => !members.some(namedAmong(namedIn(metadata.annotations, annotation))),
    async () => {
      const message = (await missingWorkers(session, namespace)) ?? 'it is done as soon as a worker can';
      return `pool ${name} was asked to ${verb} VMs, and no worker has done so within ${timeout / 1000} s: ${message}`;
    },
  );
  const now = await Promise.all(
    members.map(async (vm) => {
      const found = await ifThere(kube.get<Vm>(VirtualMachines, { namespace, name: vm.name }));
      return found?.metadata.uid === vm.uid ? found : undefined;
    }),
  );
  await labelPodsOf(
    kube,
    namespace,
    now.flatMap((vm) => vm?.metadata.name ?? []),
  );
  return now;
}
