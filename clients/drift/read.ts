import type { Stored } from '../../api/objects.ts';
import { VirtualMachinePools } from '../../api/resources.ts';
import { driftOf, type DriftedField } from '../../decisions/drift/drift.ts';
import { correctsAll } from '../../decisions/drift/members.ts';
import { poolView } from '../../decisions/from-object/owner.ts';
import { specRevision } from '../../decisions/from-object/vm.ts';
import type { Vm } from '../../decisions/membership/moves.ts';
import { revisionOf } from '../../decisions/template/revision.ts';
import { poolTemplate, type PoolTemplate } from '../../decisions/template/template.ts';
import { vmFromTemplate } from '../../decisions/template/vm-from-template.ts';
import { numberOf } from '../../decisions/template/vm-names.ts';
import { isCorrectionRequested } from '../../decisions/views/annotations/correction-order.ts';
import { recordOf } from '../../decisions/views/annotations/transition-record.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { controlledBy } from '../membership/controlled-vms.ts';
import { readRevisions } from '../pool/revisions.ts';

/** A VM that is not as the template of its revision makes it; `-o json` prints it as is. */
export interface DriftedMember {
  vm: string;
  uid: string;
  revision: string;
  fields: DriftedField[];
  /** The pool corrects all that drifts, or a user has ordered that for this VM. */
  toBeCorrected: boolean;
}

/** What users have changed in the VMs of a pool. */
export interface PoolDrift {
  namespace: string;
  pool: string;
  vms: DriftedMember[];
  /** VMs that can't be compared: the template of their revision is not kept, or their name is none of the pool's. */
  unknown: string[];
}

/** Compares the VMs of a pool, as they are now, with the templates of their revisions. */
export async function readDrift(kube: KubeClient, pool: Stored<Pool>): Promise<PoolDrift> {
  const { namespace, name } = pool.metadata;
  const [vms, revisions] = await Promise.all([
    controlledBy(kube, VirtualMachinePools, pool),
    readRevisions(kube, pool),
  ]);
  const templates = new Map(revisions.map(({ hash, template }) => [hash, template]));
  templates.set(revisionOf(poolTemplate(pool.spec)), poolTemplate(pool.spec));
  const drift: PoolDrift = { namespace: namespace!, pool: name, vms: [], unknown: [] };
  for (const vm of vms.filter(({ metadata }) => metadata.deletionTimestamp === undefined)) {
    const fields = fieldsOf(pool, vm, templates);
    if (fields === undefined) drift.unknown.push(vm.metadata.name);
    else if (fields.length > 0) drift.vms.push(memberOf(vm, fields, correctsAll(pool.spec)));
  }
  return drift;
}

function fieldsOf(
  pool: Stored<Pool>,
  vm: Vm,
  templates: ReadonlyMap<string, PoolTemplate>,
): DriftedField[] | undefined {
  const template = templates.get(specRevision(vm) ?? '');
  const number = numberOf(pool.metadata.name, vm.metadata.name);
  if (template === undefined || number === null) return undefined;
  const made = vmFromTemplate(poolView(pool), template, number);
  return driftOf({ vm, transition: recordOf(vm.metadata.annotations) }, made);
}

const memberOf = (vm: Vm, fields: DriftedField[], corrects: boolean): DriftedMember => ({
  vm: vm.metadata.name,
  uid: vm.metadata.uid,
  revision: specRevision(vm)!,
  fields,
  toBeCorrected: corrects || isCorrectionRequested(vm.metadata.annotations),
});
