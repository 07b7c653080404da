import { GROUP, VERSION } from './labels-and-annotations.ts';

/** A kind of object, with the parts of its API path. */
export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

/** Kubernetes' plurals are made so, of most kinds. */
const pluralOf = (kind: string): string => `${kind.toLowerCase()}s`;

const namespaced = (group: string, version: string, kind: string, plural = pluralOf(kind)): Resource =>
  Object.freeze({ group, version, plural, kind, namespaced: true });
const clusterWide = (group: string, version: string, kind: string, plural = pluralOf(kind)): Resource =>
  Object.freeze({ group, version, plural, kind, namespaced: false });

export const VirtualMachinePools = namespaced(GROUP, VERSION, 'VirtualMachinePool');
export const VirtualMachineReplicaSets = namespaced(GROUP, VERSION, 'VirtualMachineReplicaSet');
export const VirtualMachineOperations = namespaced(GROUP, VERSION, 'VirtualMachineOperation');
export const ClusterVirtualMachineOperations = clusterWide(GROUP, VERSION, 'ClusterVirtualMachineOperation');
export const VirtualMachineOperationSchedules = namespaced(GROUP, VERSION, 'VirtualMachineOperationSchedule');
export const VirtualMachineDisruptionBudgets = namespaced(GROUP, VERSION, 'VirtualMachineDisruptionBudget');
export const ClusterVirtualMachineDisruptionBudgets = clusterWide(
  GROUP,
  VERSION,
  'ClusterVirtualMachineDisruptionBudget',
);
/** KubeVirt has a kind of the same name in its own group. */
export const VirtualMachineInstanceReplicaSets = namespaced(GROUP, VERSION, 'VirtualMachineInstanceReplicaSet');
export const VirtualMachines = namespaced('kubevirt.io', 'v1', 'VirtualMachine');
export const VirtualMachineInstances = namespaced('kubevirt.io', 'v1', 'VirtualMachineInstance');
export const VirtualMachineInstanceMigrations = namespaced('kubevirt.io', 'v1', 'VirtualMachineInstanceMigration');
export const VirtualMachineSnapshots = namespaced('snapshot.kubevirt.io', 'v1beta1', 'VirtualMachineSnapshot');
export const VirtualMachineRestores = namespaced('snapshot.kubevirt.io', 'v1beta1', 'VirtualMachineRestore');
/** KubeVirt's own pools. Older releases of KubeVirt serve them as `v1alpha1` alone. */
export const KubeVirtPools = namespaced('pool.kubevirt.io', 'v1beta1', 'VirtualMachinePool');
export const Pods = namespaced('', 'v1', 'Pod');
export const ServiceAccounts = namespaced('', 'v1', 'ServiceAccount');
export const ControllerRevisions = namespaced('apps', 'v1', 'ControllerRevision');
export const DataVolumes = namespaced('cdi.kubevirt.io', 'v1beta1', 'DataVolume');
export const CDIs = clusterWide('cdi.kubevirt.io', 'v1beta1', 'CDI');
export const PersistentVolumeClaims = namespaced('', 'v1', 'PersistentVolumeClaim');
export const StorageClasses = clusterWide('storage.k8s.io', 'v1', 'StorageClass', 'storageclasses');
export const Secrets = namespaced('', 'v1', 'Secret');
export const ConfigMaps = namespaced('', 'v1', 'ConfigMap');
/** The same objects as `Events`, in the core API group. */
export const CoreEvents = namespaced('', 'v1', 'Event');
export const Events = namespaced('events.k8s.io', 'v1', 'Event');
export const Services = namespaced('', 'v1', 'Service');
export const Deployments = namespaced('apps', 'v1', 'Deployment');
export const Jobs = namespaced('batch', 'v1', 'Job');
export const Leases = namespaced('coordination.k8s.io', 'v1', 'Lease');
export const ResourceQuotas = namespaced('', 'v1', 'ResourceQuota');
export const Namespaces = clusterWide('', 'v1', 'Namespace');
export const Nodes = clusterWide('', 'v1', 'Node');
export const KubeVirts = namespaced('kubevirt.io', 'v1', 'KubeVirt');
export const SelfSubjectAccessReviews = clusterWide('authorization.k8s.io', 'v1', 'SelfSubjectAccessReview');
export const SubjectAccessReviews = clusterWide('authorization.k8s.io', 'v1', 'SubjectAccessReview');
export const SelfSubjectReviews = clusterWide('authentication.k8s.io', 'v1', 'SelfSubjectReview');
export const APIServices = clusterWide('apiregistration.k8s.io', 'v1', 'APIService');
export const CustomResourceDefinitions = clusterWide('apiextensions.k8s.io', 'v1', 'CustomResourceDefinition');

export const MutatingWebhookConfigurations = clusterWide(
  'admissionregistration.k8s.io',
  'v1',
  'MutatingWebhookConfiguration',
);
export const ValidatingAdmissionPolicies = clusterWide(
  'admissionregistration.k8s.io',
  'v1',
  'ValidatingAdmissionPolicy',
  'validatingadmissionpolicies',
);
export const ValidatingAdmissionPolicyBindings = clusterWide(
  'admissionregistration.k8s.io',
  'v1',
  'ValidatingAdmissionPolicyBinding',
);

/**
 * Whether a client with rights in one namespace alone may see all objects of this kind: KubeVirt's own is in another
 * namespace, and Leases are about other namespaces.
 */
export const isInNamespace = (resource: Resource): boolean =>
  resource.namespaced && resource !== KubeVirts && resource !== Leases;

export const apiVersionOf = (resource: Resource): string =>
  resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;

/** Returns the path of a collection, of one object, or of its subresource. */
export function pathOf(resource: Resource, namespace?: string, name?: string, subresource?: string): string {
  const root = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const scope = resource.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  const object = name === undefined ? '' : `/${encodeURIComponent(name)}`;
  return `${root}${scope}/${resource.plural}${object}${subresource === undefined ? '' : `/${subresource}`}`;
}
