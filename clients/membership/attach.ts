import { controllerOf } from '../../api/objects.ts';
import { formerMemberOf } from '../../decisions/views/annotations/former-member.ts';
import { vmNamesOf } from '../cli/targets.ts';
import type { Session, Work } from '../session/session.ts';
import { adopt, type AdoptOptions } from './adopt.ts';
import { namedVms, refuseVms } from './controlled-vms.ts';

interface AttachOptions extends AdoptOptions {
  /** The pool; by default the pool that each VM was detached from. */
  pool?: string;
}

/** Puts VMs back into their pools, as `adopt` does. */
export const attachVms: Work<AttachOptions> = async (session, { pool, ...options }, ...args) => {
  const [names, namespace] = [vmNamesOf(args), await session.namespace()];
  const pools = pool === undefined ? await poolsOf(session, namespace, names) : new Map([[pool, names]]);
  for (const [name, vms] of pools) await adopt(session, { namespace, name }, { names: vms }, options);
};

/** Returns the names of the VMs by their pools. Throws a `Failure` for each VM whose pool is not known. */
async function poolsOf(session: Session, namespace: string, names: readonly string[]): Promise<Map<string, string[]>> {
  const vms = await namedVms(await session.kube(), namespace, names);
  const pools = new Map(
    vms.map(({ metadata: { name, annotations } }) => [name, formerMemberOf(annotations)?.pool] as const),
  );
  refuseVms(vms, (vm) => {
    const owner = controllerOf(vm);
    if (owner !== undefined) return `belongs to ${owner.kind} ${owner.name}`;
    return pools.get(vm.metadata.name) === undefined ? 'was not detached by drover: give its pool with --pool' : null;
  });
  return Map.groupBy(pools.keys(), (name) => pools.get(name)!);
}
