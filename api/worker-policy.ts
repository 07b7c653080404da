import { admissionPolicy, isWorker } from './admission-policy.ts';
import { CHECK_LABEL, GROUP, KEPT_DISK, POOL_LABEL } from './labels-and-annotations.ts';
import {
  ControllerRevisions,
  DataVolumes,
  Jobs,
  KubeVirtPools,
  PersistentVolumeClaims,
  VirtualMachineInstanceReplicaSets,
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachineReplicaSets,
  VirtualMachines,
  type Resource,
} from './resources.ts';

/** Namespaces of Kubernetes, of OpenShift and of KubeVirt: who may read their Secrets may do anything. */
const OF_CLUSTER = '^(kube|openshift)-';
const KUBEVIRT_LABELS = ['kubevirt.io', 'cdi.kubevirt.io'];

const hasLabel = (object: string, label: string): string => `'${label}' in ${object}.metadata.?labels.orValue({})`;
const controllersOf = (object: string): string =>
  `${object}.metadata.?ownerReferences.orValue([]).filter(owner, owner.?controller.orValue(false))`;
const isOf = (kinds: readonly Resource[]): string =>
  kinds.map(({ group, kind }) => `(owner.apiVersion.startsWith('${group}/') && owner.kind == '${kind}')`).join(' || ');
const isControlledBy = (object: string, ...kinds: Resource[]): string =>
  `${controllersOf(object)}.exists(owner, ${isOf(kinds)})`;
/** Requires it of the object as it is to be, and as it was. */
const isEach = (must: (object: string) => string): string =>
  `[object, oldObject].all(one, one == null || ${must('one')})`;

/** What must be true of an object of this kind if a worker does this to it, in CEL, and in words. */
function rule(kinds: Resource | Resource[], operation: RegExp, must: string, words: string): object {
  const plurals = [kinds].flat().map(({ plural }) => `'${plural}'`);
  return {
    expression: `!(request.resource.resource in [${plurals.join(', ')}] && request.operation.matches('${operation.source}')) || (${must})`,
    message: `a worker of drover ${words}`,
    reason: 'Forbidden',
  };
}

const ANY = /./;
const POOLS_AND_SETS = [VirtualMachinePools, VirtualMachineReplicaSets];

/**
 * The policy that narrows what the token of a worker is worth, since RBAC can't tell objects apart: what a worker
 * makes and deletes belongs to a pool or a set, and none of it is in a namespace of the cluster itself. It is about
 * accounts that may write the status of schedules and may not delete pools: a worker needs no such right, and
 * administrators and the garbage collector have it.
 */
export const WORKER_POLICY = admissionPolicy({
  name: `worker.${GROUP}`,
  writes: [
    { group: VirtualMachines.group, resources: [VirtualMachines.plural], operations: ['CREATE', 'UPDATE', 'DELETE'] },
    { group: VirtualMachines.group, resources: [VirtualMachineInstances.plural], operations: ['CREATE', 'DELETE'] },
    {
      group: ControllerRevisions.group,
      resources: [ControllerRevisions.plural],
      operations: ['CREATE', 'UPDATE', 'DELETE'],
    },
    { group: Jobs.group, resources: [Jobs.plural], operations: ['CREATE', 'DELETE'] },
    { group: PersistentVolumeClaims.group, resources: [PersistentVolumeClaims.plural], operations: ['DELETE'] },
    { group: DataVolumes.group, resources: [DataVolumes.plural], operations: ['DELETE'] },
  ],
  conditions: {
    worker: isWorker('request.namespace'),
    'deletes-no-pools': `!authorizer.group('${GROUP}').resource('${VirtualMachinePools.plural}').namespace(request.namespace).check('delete').allowed()`,
  },
  validations: [
    {
      expression: `!request.namespace.matches('${OF_CLUSTER}') && !(${KUBEVIRT_LABELS.map((label) => hasLabel('namespaceObject', label)).join(' || ')})`,
      messageExpression: `'a worker of drover makes, changes and deletes nothing in namespace ' + request.namespace + ', which is of the cluster itself'`,
      reason: 'Forbidden',
    },
    {
      // The account of the dashboard is there, too. Workers of single namespaces may run in one of these.
      expression: `!request.userInfo.username.startsWith('system:serviceaccount:' + request.namespace + ':') || !${isWorker("''")}`,
      message: 'a worker of the whole cluster makes, changes and deletes nothing in its own namespace',
      reason: 'Forbidden',
    },
    rule(
      VirtualMachines,
      /CREATE|DELETE/,
      isEach((one) => isControlledBy(one, ...POOLS_AND_SETS)),
      'makes and deletes VMs only of a pool or a set',
    ),
    rule(
      VirtualMachines,
      /UPDATE/,
      `${controllersOf('object')}.all(owner, ${controllersOf('oldObject')}.exists(one, one.uid == owner.uid) || ${isOf([...POOLS_AND_SETS, KubeVirtPools])})`,
      'gives VMs only to a pool or a set',
    ),
    rule(
      VirtualMachineInstances,
      /CREATE/,
      isControlledBy('object', VirtualMachineInstanceReplicaSets),
      'makes VMIs only of a set',
    ),
    rule(
      VirtualMachineInstances,
      /DELETE/,
      isControlledBy('oldObject', VirtualMachineInstanceReplicaSets, VirtualMachines),
      'deletes VMIs only of a set or a VM',
    ),
    rule(
      Jobs,
      ANY,
      isEach((one) => isControlledBy(one, VirtualMachinePools)),
      'makes, changes and deletes only what belongs to a pool',
    ),
    rule(
      Jobs,
      ANY,
      isEach((one) => hasLabel(one, CHECK_LABEL)),
      'makes Jobs only for checks',
    ),
    rule(
      ControllerRevisions,
      /CREATE|UPDATE/,
      `(${isControlledBy('object', VirtualMachinePools)} && ${hasLabel('object', POOL_LABEL)}) || ${isControlledBy('object', KubeVirtPools)}`,
      'makes ControllerRevisions only of a pool, with its label',
    ),
    rule(
      ControllerRevisions,
      /UPDATE|DELETE/,
      // The pool may be gone.
      `${isControlledBy('oldObject', VirtualMachinePools, KubeVirtPools)} || (size(${controllersOf('oldObject')}) == 0 && (${hasLabel('oldObject', POOL_LABEL)} || oldObject.?data.?virtualMachineTemplate.hasValue()))`,
      'changes and deletes ControllerRevisions only of a pool',
    ),
    rule(PersistentVolumeClaims, ANY, hasLabel('oldObject', KEPT_DISK), 'deletes only claims that a pool has kept'),
    rule(
      DataVolumes,
      ANY,
      'size(oldObject.metadata.?ownerReferences.orValue([])) == 0',
      'deletes only DataVolumes without an owner',
    ),
  ],
  without: "a worker's token is worth every Secret and every account of the cluster",
});
