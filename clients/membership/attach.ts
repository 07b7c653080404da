import { controllerOf } from '../../api/objects.ts';
import { VirtualMachines } from '../../api/resources.ts';
import { formerMemberOf } from '../../decisions/annotations/former-member.ts';
import type { VirtualMachine } from '../../decisions/views/from-object/vm.ts';
import { Failure, throwAll } from '../cli/failure.ts';
import { vmNamesOf } from '../cli/targets.ts';
import type { Session } from '../session/session.ts';
import { adopt, type AdoptOptions } from './adopt.ts';

interface AttachOptions extends AdoptOptions {
  /** The pool; by default the pool that each VM was detached from. */
  pool?: string;
}

/** Puts VMs back into their pools, as `adopt` does. */
export async function attachVms(
  session: Session,
  { pool, ...options }: AttachOptions,
  ...words: string[]
): Promise<void> {
  const [names, namespace] = [vmNamesOf(words), await session.namespace()];
  const pools = pool === undefined ? await poolsOf(session, namespace, names) : new Map([[pool, names]]);
  for (const [name, vms] of pools) await adopt(session, { namespace, name }, { names: vms }, options);
}

/** Returns the names of the VMs by their pools. Throws a `Failure` for each VM whose pool is not known. */
async function poolsOf(session: Session, namespace: string, names: readonly string[]): Promise<Map<string, string[]>> {
  const kube = await session.kube();
  const vms = await Promise.all(
    [...new Set(names)].map((name) => kube.get<VirtualMachine>(VirtualMachines, { namespace, name })),
  );
  const pools = new Map<string, string[]>();
  const failures: Failure[] = [];
  for (const { metadata, ...rest } of vms) {
    const owner = controllerOf({ metadata, ...rest });
    const { name } = metadata;
    const pool = formerMemberOf(metadata.annotations)?.pool;
    if (owner !== undefined) failures.push(new Failure(`vm ${name} belongs to ${owner.kind} ${owner.name}`));
    else if (pool === undefined)
      failures.push(new Failure(`vm ${name} was not detached by drover: give its pool with --pool`));
    else pools.set(pool, [...(pools.get(pool) ?? []), name]);
  }
  throwAll(failures);
  return pools;
}
