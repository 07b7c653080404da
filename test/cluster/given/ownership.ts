import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject, Stored } from '../../../api/objects.ts';
import { OWNER_KINDS } from '../../../api/owner-kinds.ts';
import {
  ClusterVirtualMachineOperations,
  Namespaces,
  PersistentVolumeClaims,
  Pods,
  VirtualMachineInstances,
  VirtualMachines,
  type Resource,
} from '../../../api/resources.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { isNotFound } from '../../../kubernetes/errors.ts';
import { isOfOwn } from '../objection.ts';

const RUN_LABEL = 'drover.dev/test-run';
const GONE_WITHIN_MS = 120_000;

const rbac = (plural: string, kind: string, namespaced: boolean): Resource => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural,
  kind,
  namespaced,
});
export const ClusterRoles = rbac('clusterroles', 'ClusterRole', false);
export const ClusterRoleBindings = rbac('clusterrolebindings', 'ClusterRoleBinding', false);
export const RoleBindings = rbac('rolebindings', 'RoleBinding', true);

/** Drover's kinds whose objects own VMs or VMIs. */
export const OWNERS = Object.values(OWNER_KINDS).map(({ resource }) => resource);

export const labelsOf = (run: string): Record<string, string> => ({ [RUN_LABEL]: run });
export const selectorOf = (run: string): string => `${RUN_LABEL}=${run}`;

/**
 * Deletes these namespaces of the run with all their contents. Removes finalizers, as their controllers may be gone.
 * Throws if a namespace still exists after `GONE_WITHIN_MS`.
 */
export async function removeNamespaces(kube: KubeClient, names: readonly string[]): Promise<void> {
  await removeOperations(kube, names);
  await Promise.all(names.map((name) => ignoringGone(kube.delete(Namespaces, { name }))));
  const deadline = Date.now() + GONE_WITHIN_MS;
  for (let left = [...names]; ; await sleep(500)) {
    const there = await Promise.all(left.map((name) => isThere(kube, name)));
    left = left.filter((_name, index) => there[index]);
    if (left.length === 0) return;
    if (Date.now() > deadline)
      throw new Error(
        `still there after ${GONE_WITHIN_MS / 1000} s: namespaces ${left.join(', ')}; delete them by hand`,
      );
    await Promise.all(
      left.flatMap((name) => [
        ...[Pods, ...OWNERS, VirtualMachines, VirtualMachineInstances].map((kind) => release(kube, kind, name, OURS)),
        releaseClaims(kube, name),
      ]),
    );
  }
}

/** Deletes the cluster-wide operations over these namespaces. Removes finalizers, as their worker may be gone. */
async function removeOperations(kube: KubeClient, names: readonly string[]): Promise<void> {
  const kind = ClusterVirtualMachineOperations;
  for (const { metadata } of await listed(kube, kind, undefined)) {
    if (!isOfOwn(names, metadata.name)) continue;
    await ignoringGone(kube.delete(kind, { name: metadata.name }));
    await ignoringGone(kube.patch(kind, { name: metadata.name }, 'merge', { metadata: { finalizers: [] } }));
  }
}

/** Deletes everything that carries the run's label, cluster-wide objects last. */
export async function removeAll(kube: KubeClient, run: string): Promise<void> {
  const labelSelector = selectorOf(run);
  const { items } = await kube.list(Namespaces, { labelSelector });
  try {
    await removeNamespaces(
      kube,
      items.map(({ metadata }) => metadata.name),
    );
  } finally {
    for (const resource of [ClusterRoleBindings, ClusterRoles]) {
      for (const { metadata } of (await kube.list(resource, { labelSelector })).items)
        await ignoringGone(kube.delete(resource, { name: metadata.name }));
    }
  }
}

const isThere = (kube: KubeClient, name: string): Promise<boolean> =>
  kube.get(Namespaces, { name }).then(
    () => true,
    (error: unknown) => {
      if (isNotFound(error)) return false;
      throw error;
    },
  );

/** Drover's finalizers and the tests' own; KubeVirt removes its own. */
const OURS = /^(drover\.dev|test)\//;

/** A cluster without nodes may have nobody who lets go of claims that no pod uses. */
async function releaseClaims(kube: KubeClient, namespace: string): Promise<void> {
  const { items } = await kube.list(Pods, { namespace });
  if (items.length === 0) await release(kube, PersistentVolumeClaims, namespace, /^kubernetes\.io\/pvc-protection$/);
}

/** Removes finalizers from terminating objects. */
async function release(kube: KubeClient, resource: Resource, namespace: string, which: RegExp): Promise<void> {
  for (const { metadata } of await listed(kube, resource, namespace)) {
    const { name, resourceVersion, deletionTimestamp, finalizers = [] } = metadata;
    const left = finalizers.filter((finalizer) => !which.test(finalizer));
    if (deletionTimestamp === undefined || left.length === finalizers.length) continue;
    await kube
      .patch(resource, { namespace, name }, 'merge', { metadata: { resourceVersion, finalizers: left } })
      .catch(() => undefined);
  }
}

/** None if the cluster does not know the kind. */
async function listed(kube: KubeClient, resource: Resource, namespace: string | undefined): Promise<Stored[]> {
  try {
    return (await kube.list<KubeObject>(resource, { namespace })).items;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return [];
  }
}

async function ignoringGone(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
