import { CORRECT_DRIFT_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { type Stored } from '../../api/objects.ts';
import { isControlledBy } from '../../api/owner-references.ts';
import { VirtualMachines, VirtualMachinePools } from '../../api/resources.ts';
import { updateRules } from '../../api/rules/pool-defaults.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import { Failure } from '../cli/failure.ts';
import { Vms } from '../cli/kinds.ts';
import type { DryRun } from '../cli/parse-values.ts';
import { printNote, print, dryRunSuffix, labelOf } from '../cli/print.ts';
import { namedPools } from '../pool/named-pools.ts';
import type { RequestOptions } from '../pool/request.ts';
import { rolloutNotes } from '../rollout/change-template.ts';
import { requestedBy } from '../session/requester.ts';
import type { Work } from '../session/session.ts';
import { readDrift, type DriftedMember } from './read.ts';

/** KubeVirt writes to a VM that starts or migrates several times a second. */
const TRIES = 20;

interface OrderOptions {
  /** The requester, and the reason. */
  by: string;
  dryRun: DryRun;
}

/** Has the VMs of pools corrected that have drifted by now. */
export const correctDrift: Work<RequestOptions> = async (session, { reason, dryRun }, ...args) => {
  const pools = await namedPools(session, args);
  const kube = await session.kube();
  const who = await requestedBy(async () => kube);
  const by = reason === undefined ? who : `${who}: ${reason}`;
  for (const pool of pools) await orderCorrection(kube, pool, { by, dryRun });
};

/**
 * Orders the correction of the VMs of a pool that have drifted so far, by an annotation of each: what drifts later is
 * kept again. Run again after it was killed, it continues.
 */
export async function orderCorrection(kube: KubeClient, pool: Stored<Pool>, options: OrderOptions): Promise<void> {
  const { name } = pool.metadata;
  if (updateRules(pool.spec.updateStrategy).kind === 'unmanaged')
    throw new Failure(
      `pool ${name} has updateStrategy unmanaged: drover does not touch its VMs, so users must correct them`,
    );
  const { vms, namespace } = await readDrift(kube, pool);
  if (vms.length === 0) return printNote(`No VM of pool ${name} has drifted.`);
  for (const member of vms) {
    const isOrdered = await order(kube, { namespace, pool: pool.metadata.uid }, member, options);
    if (!isOrdered) {
      printNote(`vm ${member.vm} has left pool ${name} meanwhile`);
      continue;
    }
    const fields = member.fields.map(({ path }) => path).join(', ');
    print(`${labelOf(Vms.resource, member.vm)} will be corrected${dryRunSuffix(options.dryRun)}: ${fields}`);
  }
  const failed = new Set(pool.status?.rollout?.failures.map(({ vm }) => vm));
  const stopped = vms.filter(({ vm }) => failed.has(vm)).map(({ vm }) => vm);
  if (stopped.length > 0)
    printNote(
      `${formatNames(stopped)}: failed in the rollout, so nothing is done until \`drover rollout resume pool ${name}\``,
    );
  for (const note of rolloutNotes(pool)) printNote(note);
}

/** Writes to the VM only in the version in which it was seen to be the pool's. Returns false if it is not. */
async function order(
  kube: KubeClient,
  { namespace, pool }: { namespace: string; pool: string },
  { vm: name, uid }: DriftedMember,
  { by, dryRun }: OrderOptions,
): Promise<boolean> {
  const key = { namespace, name };
  return retryOnConflict(
    async () => {
      const vm = await ignoreNotFound(kube.get(VirtualMachines, key));
      if (vm?.metadata.uid !== uid || !isControlledBy(vm, VirtualMachinePools, { namespace, uid: pool })) return false;
      if (dryRun === 'client') return true;
      const { resourceVersion } = vm.metadata;
      const patch = { metadata: { uid, resourceVersion, annotations: { [CORRECT_DRIFT_ANNOTATION]: by } } };
      await kube.patch(VirtualMachines, key, 'merge', patch, { dryRun: dryRun === 'server' });
      return true;
    },
    { tries: TRIES },
  );
}
