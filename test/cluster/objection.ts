import {
  ClusterVirtualMachineOperations,
  Namespaces,
  Nodes,
  VirtualMachineInstances,
  type Resource,
} from '../../api/resources.ts';
import type { ObjectKey } from '../../kubernetes/client.ts';
import { entriesIn } from './entries.ts';
import { asksFor, beyond } from './given/annotations.ts';
import type { GivenCluster } from './given/given.ts';
import { lackOf } from './given/needs.ts';

/** Groups whose objects are questions: nothing is kept of them. */
const ASKED = new Set(['authentication.k8s.io', 'authorization.k8s.io']);

/**
 * Returns why a test may not write this in someone else's cluster; undefined if it may. `own` are the namespaces that
 * the test created.
 */
export function objection(
  given: GivenCluster,
  own: ReadonlySet<string>,
  resource: Resource,
  { namespace, name }: ObjectKey,
  body: unknown,
): string | undefined {
  if (ASKED.has(resource.group)) return undefined;
  const isOwn = resource.namespaced
    ? namespace !== undefined && own.has(namespace)
    : resource === Namespaces
      ? own.has(name)
      : isOfOwn(own, name) && (resource === ClusterVirtualMachineOperations || (given.hasStandIn && isRole(resource)));
  const isNobodys = given.hasStandIn && resource === Nodes && isCordon(body);
  if (!isOwn && !isNobodys) return `it changes the cluster itself: ${resource.kind} ${name}`;
  // An existing VMI can be made unready, but a starting VMI is ready for a moment, which drover may see.
  if (resource !== VirtualMachineInstances && asksFor(body, 'never-ready'))
    return 'its VMIs are never ready, not even for a moment';
  if (given.lacks.includes('DataVolumes') && hasDisks(body)) return lackOf('DataVolumes');
  return beyond(given, body);
}

/** Users of tests have rights in the whole cluster only if nobody else's VMs run there. */
const isRole = ({ group }: Resource): boolean => group === 'rbac.authorization.k8s.io';

/** Reports whether a patch of a node cordons or uncordons it, and does no more. */
const isCordon = (patch: unknown): boolean =>
  [...entriesIn(patch)].map(([name]) => name).join('.') === 'spec.unschedulable';

/**
 * Reports whether a cluster-wide object is the test's own, by its name, which ends with a namespace of the test. The
 * worker can act in the test's namespaces alone, whatever an operation is for.
 */
export const isOfOwn = (own: Iterable<string>, name: string | undefined): boolean =>
  [...own].some((namespace) => name?.endsWith(`-${namespace}`) === true);

const hasDisks = (value: unknown): boolean =>
  [...entriesIn(value)].some(
    ([name, inner]) => name === 'dataVolumeTemplates' && Array.isArray(inner) && inner.length > 0,
  );

/** The same for subresource calls: `restart` and the like, of a VM or its VMI. */
export function actionObjection(given: GivenCluster, own: ReadonlySet<string>, path: string): string | undefined {
  const [, namespace, resource, action] = /\/namespaces\/([^/]+)\/([^/]+)\/[^/]+\/([^/?]+)/.exec(path) ?? [];
  if (namespace === undefined || !own.has(namespace)) return `it changes the cluster itself: ${path}`;
  // virt-handler does these on the node, but for what virt-api writes itself.
  if (given.hasStandIn && resource === 'virtualmachineinstances' && action !== 'evacuate')
    return `it asks a VMI to ${action}, and the nodes are played by a stand-in`;
  return undefined;
}
