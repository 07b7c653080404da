import type { Stored } from '../../api/objects.ts';
import type { Disruption } from '../../api/pool/pool.ts';
import { VirtualMachineInstances } from '../../api/resources.ts';
import { correctDrift } from '../../decisions/drift/correct-drift.ts';
import { driftOf } from '../../decisions/drift/drift.ts';
import { correctsAll, disruptionOf } from '../../decisions/drift/members.ts';
import type { VirtualMachine } from '../../decisions/from-object/vm.ts';
import { fitOf } from '../../decisions/membership/fit.ts';
import type { NewVirtualMachine } from '../../decisions/template/vm-from-template.ts';
import { recordOf } from '../../decisions/views/annotations/transition-record.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import { notKept } from '../lib/refuse-unkept.ts';

/** A VM as it is to be without its drift. */
export interface CorrectedVm {
  vm: Stored<VirtualMachine>;
  /** What that takes, by the specs of the VM alone. */
  disruption: Disruption;
  /** Its VMI runs what the VM has drifted to. */
  isVmiOld: boolean;
}

interface DriftingVm {
  vm: Stored<VirtualMachine>;
  /** Its VMI, if one runs. */
  vmi: VmiView | undefined;
  /** The VM that its pool would create from the VM's own revision. */
  made: NewVirtualMachine;
  strategy: 'Stage' | 'LiveUpdate';
}

/** Looks at a VM, and at what its VMI runs, as the API server has them; undefined if nothing will be corrected. */
export async function correctVm(
  client: KubeClient,
  pool: StoredPool,
  { vm, vmi, made, strategy }: DriftingVm,
): Promise<CorrectedVm | undefined> {
  const right = correctDrift(vm, made, correctsAll(pool.spec));
  if (right === null) return undefined;
  const { namespace, name } = vm.metadata;
  const running = vmi && (await ignoreNotFound(client.get(VirtualMachineInstances, { namespace, name })));
  const isSame = running !== undefined && running.metadata.uid === vmi?.uid;
  return {
    vm: right,
    disruption: disruptionOf(vm, right, strategy),
    isVmiOld: isSame && fitOf(right, running, made).vmiDiffers.length > 0,
  };
}

/** Throws if what was just corrected is not: an admission policy has changed it, and would do so again. */
export function refuseDrift(vm: Stored<VirtualMachine>, made: NewVirtualMachine): void {
  const drift = driftOf({ vm, transition: recordOf(vm.metadata.annotations) }, made);
  if (drift.length === 0) return;
  const [{ path, wanted, actual }] = drift as [(typeof drift)[number]];
  throw notKept(path, wanted, actual);
}
