import { matchesLabels } from '../../api/rules/label-selector.ts';
import type { StoredOperation } from '../views/stored-operation.ts';

/** Where an operation may find its VMs. */
export interface OperationScope {
  /** Whether VMs of the namespace may be among them. */
  includes: (namespace: string) => boolean;
  /** UIDs of the owners that it names: a cluster-wide operation may find one of that name in each namespace. */
  owners: ReadonlySet<string>;
}

/** Returns the labels of a namespace; undefined if there is no such namespace. */
export type LabelsOfNamespace = (namespace: string) => Readonly<Record<string, string>> | undefined;

/**
 * Returns whether the operation includes a namespace: its own, or the namespaces that a cluster-wide operation names
 * and selects.
 */
export function namespacesOf(
  { metadata, spec }: Pick<StoredOperation, 'metadata' | 'spec'>,
  labelsOf: LabelsOfNamespace,
): OperationScope['includes'] {
  const { namespaces, namespaceSelector: selector } = spec;
  if (metadata.namespace !== undefined) return (namespace) => namespace === metadata.namespace;
  if (namespaces === undefined && selector === undefined) return () => true;
  const named = new Set(namespaces);
  const isSelected = (labels: ReturnType<LabelsOfNamespace>): boolean =>
    selector !== undefined && labels !== undefined && matchesLabels(selector, labels);
  return (namespace) => named.has(namespace) || isSelected(labelsOf(namespace));
}
