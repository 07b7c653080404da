import { ClusterVirtualMachineOperations, VirtualMachineOperations, type Resource } from '../../api/resources.ts';

/**
 * An operation in Kubernetes: another one of its name is another operation. Everything that acts for it reads it from
 * the API server, by this.
 */
export interface OperationRef {
  /** Absent: the operation is cluster-wide. */
  namespace?: string | undefined;
  name: string;
  uid: string;
}

type Named = Pick<OperationRef, 'namespace' | 'name'>;

/** Stands in keys for the namespace of a cluster-wide operation: no namespace has such a name. */
const CLUSTER_WIDE = '-';

export const operationResource = ({ namespace }: Pick<OperationRef, 'namespace'>): Resource =>
  namespace === undefined ? ClusterVirtualMachineOperations : VirtualMachineOperations;

/** Returns its name for users: `namespace/name`, or, if it is cluster-wide, the name alone. */
export const operationName = ({ namespace, name }: Named): string =>
  namespace === undefined ? name : `${namespace}/${name}`;

export const operationKey = ({ namespace = CLUSTER_WIDE, name, uid }: OperationRef): string =>
  `${namespace}/${name}/${uid}`;

/** Whether an operation of this namespace, as its key names it, may act in the other: cluster-wide ones may in any. */
export const mayActIn = (namespaceOfKey: string | undefined, namespace: string): boolean =>
  namespaceOfKey === namespace || namespaceOfKey === CLUSTER_WIDE;

/** Returns what `operationKey` was made from. */
export function operationOfKey(key: string): OperationRef {
  const [namespace = '', name = '', uid = ''] = key.split('/');
  return { ...(namespace === CLUSTER_WIDE ? {} : { namespace }), name, uid };
}
