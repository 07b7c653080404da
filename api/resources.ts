import { GROUP, VERSION } from './labels-and-annotations.ts';

/** A kind of object, with the parts of its API path. */
export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

const namespaced = (group: string, version: string, plural: string, kind: string): Resource =>
  Object.freeze({ group, version, plural, kind, namespaced: true });
const clusterWide = (group: string, version: string, plural: string, kind: string): Resource =>
  Object.freeze({ group, version, plural, kind, namespaced: false });

export const VirtualMachinePools = namespaced(GROUP, VERSION, 'virtualmachinepools', 'VirtualMachinePool');
export const VirtualMachineReplicaSets = namespaced(
  GROUP,
  VERSION,
  'virtualmachinereplicasets',
  'VirtualMachineReplicaSet',
);
export const VirtualMachineOperations = namespaced(
  GROUP,
  VERSION,
  'virtualmachineoperations',
  'VirtualMachineOperation',
);
export const ClusterVirtualMachineOperations = clusterWide(
  GROUP,
  VERSION,
  'clustervirtualmachineoperations',
  'ClusterVirtualMachineOperation',
);
export const VirtualMachineOperationSchedules = namespaced(
  GROUP,
  VERSION,
  'virtualmachineoperationschedules',
  'VirtualMachineOperationSchedule',
);
/** KubeVirt has a kind of the same name in its own group. */
export const VirtualMachineInstanceReplicaSets = namespaced(
  GROUP,
  VERSION,
  'virtualmachineinstancereplicasets',
  'VirtualMachineInstanceReplicaSet',
);
export const VirtualMachines = namespaced('kubevirt.io', 'v1', 'virtualmachines', 'VirtualMachine');
export const VirtualMachineInstances = namespaced(
  'kubevirt.io',
  'v1',
  'virtualmachineinstances',
  'VirtualMachineInstance',
);
export const VirtualMachineInstanceMigrations = namespaced(
  'kubevirt.io',
  'v1',
  'virtualmachineinstancemigrations',
  'VirtualMachineInstanceMigration',
);
export const VirtualMachineSnapshots = namespaced(
  'snapshot.kubevirt.io',
  'v1beta1',
  'virtualmachinesnapshots',
  'VirtualMachineSnapshot',
);
export const VirtualMachineRestores = namespaced(
  'snapshot.kubevirt.io',
  'v1beta1',
  'virtualmachinerestores',
  'VirtualMachineRestore',
);
/** KubeVirt's own pools. Older releases of KubeVirt serve them as `v1alpha1` alone. */
export const KubeVirtPools = namespaced('pool.kubevirt.io', 'v1beta1', 'virtualmachinepools', 'VirtualMachinePool');
export const Pods = namespaced('', 'v1', 'pods', 'Pod');
export const ServiceAccounts = namespaced('', 'v1', 'serviceaccounts', 'ServiceAccount');
export const ControllerRevisions = namespaced('apps', 'v1', 'controllerrevisions', 'ControllerRevision');
export const DataVolumes = namespaced('cdi.kubevirt.io', 'v1beta1', 'datavolumes', 'DataVolume');
export const CDIs = clusterWide('cdi.kubevirt.io', 'v1beta1', 'cdis', 'CDI');
export const PersistentVolumeClaims = namespaced('', 'v1', 'persistentvolumeclaims', 'PersistentVolumeClaim');
export const StorageClasses = clusterWide('storage.k8s.io', 'v1', 'storageclasses', 'StorageClass');
export const Secrets = namespaced('', 'v1', 'secrets', 'Secret');
export const ConfigMaps = namespaced('', 'v1', 'configmaps', 'ConfigMap');
/** The same objects as `Events`, in the core API group. */
export const CoreEvents = namespaced('', 'v1', 'events', 'Event');
export const Events = namespaced('events.k8s.io', 'v1', 'events', 'Event');
export const Services = namespaced('', 'v1', 'services', 'Service');
export const PodDisruptionBudgets = namespaced('policy', 'v1', 'poddisruptionbudgets', 'PodDisruptionBudget');
export const Deployments = namespaced('apps', 'v1', 'deployments', 'Deployment');
export const Jobs = namespaced('batch', 'v1', 'jobs', 'Job');
export const Leases = namespaced('coordination.k8s.io', 'v1', 'leases', 'Lease');
export const ResourceQuotas = namespaced('', 'v1', 'resourcequotas', 'ResourceQuota');
export const Namespaces = clusterWide('', 'v1', 'namespaces', 'Namespace');
export const Nodes = clusterWide('', 'v1', 'nodes', 'Node');
export const KubeVirts = namespaced('kubevirt.io', 'v1', 'kubevirts', 'KubeVirt');
export const SelfSubjectAccessReviews = clusterWide(
  'authorization.k8s.io',
  'v1',
  'selfsubjectaccessreviews',
  'SelfSubjectAccessReview',
);
export const SubjectAccessReviews = clusterWide(
  'authorization.k8s.io',
  'v1',
  'subjectaccessreviews',
  'SubjectAccessReview',
);
export const SelfSubjectReviews = clusterWide('authentication.k8s.io', 'v1', 'selfsubjectreviews', 'SelfSubjectReview');
export const APIServices = clusterWide('apiregistration.k8s.io', 'v1', 'apiservices', 'APIService');
export const CustomResourceDefinitions = clusterWide(
  'apiextensions.k8s.io',
  'v1',
  'customresourcedefinitions',
  'CustomResourceDefinition',
);

export const ValidatingAdmissionPolicies = clusterWide(
  'admissionregistration.k8s.io',
  'v1',
  'validatingadmissionpolicies',
  'ValidatingAdmissionPolicy',
);
export const ValidatingAdmissionPolicyBindings = clusterWide(
  'admissionregistration.k8s.io',
  'v1',
  'validatingadmissionpolicybindings',
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
