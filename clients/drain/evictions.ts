import { controllerOf, type KubeObject, type Stored } from '../../api/objects.ts';
import { pathOf, Pods } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isNotFound, KubeError } from '../../kubernetes/errors.ts';
import { mapAtOnce } from '../cli/at-once.ts';
import type { DryRun } from '../cli/parse-values.ts';

/** KubeVirt's label of the pods that run VMIs, and its annotation with the name of the VMI. */
const LAUNCHER = { label: 'kubevirt.io', value: 'virt-launcher', vmi: 'kubevirt.io/domain' };
/** Kubernetes' annotation of a pod that a kubelet runs by itself. */
const MIRROR = 'kubernetes.io/config.mirror';
/** What KubeVirt answers once it has marked a VMI for its evacuation: it refuses the eviction of the pod. */
const EVACUATION_TRIGGERED = 'Eviction triggered evacuation';
const AT_ONCE = 8;

interface Pod extends KubeObject {
  status?: { phase?: string };
}

export interface LauncherPod {
  namespace: string;
  name: string;
  uid: string;
  vmi: string;
}

/**
 * Returns the pods of VMIs on the node, and how many others `kubectl drain` would evict: neither of a DaemonSet nor of
 * the kubelet. Pods that have ended count as neither.
 */
export async function podsOn(kube: KubeClient, node: string): Promise<{ launchers: LauncherPod[]; others: number }> {
  const { items } = await kube.list<Pod>(Pods, { fieldSelector: `spec.nodeName=${node}` });
  const live = items.filter(({ status }) => status?.phase !== 'Succeeded' && status?.phase !== 'Failed');
  const isLauncher = ({ metadata }: Pod): boolean => metadata.labels?.[LAUNCHER.label] === LAUNCHER.value;
  return {
    launchers: live.filter(isLauncher).map(({ metadata: { namespace, name, uid, annotations } }) => ({
      namespace: namespace!,
      name,
      uid,
      vmi: annotations?.[LAUNCHER.vmi] ?? name,
    })),
    others: live.filter((pod) => !isLauncher(pod) && isEvictable(pod)).length,
  };
}

const isEvictable = (pod: Stored<Pod>): boolean =>
  pod.metadata.annotations?.[MIRROR] === undefined &&
  controllerOf(pod)?.kind !== 'DaemonSet' &&
  pod.metadata.labels?.[LAUNCHER.label] === undefined;

/**
 * What came of an eviction: KubeVirt has the VMI leave the node; the pod ends, and its VMI with it; or neither, which
 * may be otherwise later.
 */
export type Evicted = { pod: LauncherPod } & ({ end: 'asked' | 'ends' } | { end: 'refused'; message: string });

/** Asks to evict each of the pods, a few at a time. Throws `KubeUnreachable` if the API server does not answer. */
export const evictAll = (
  kube: KubeClient,
  pods: readonly LauncherPod[],
  dryRun: DryRun,
  onEnd: (evicted: Evicted) => void,
): Promise<unknown> => mapAtOnce(pods, AT_ONCE, async (pod) => onEnd(await evict(kube, pod, dryRun)));

async function evict(kube: KubeClient, pod: LauncherPod, dryRun: DryRun): Promise<Evicted> {
  const { namespace, name, uid } = pod;
  const body = {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { namespace, name },
    deleteOptions: { preconditions: { uid }, ...(dryRun === 'server' ? { dryRun: ['All'] } : {}) },
  };
  try {
    await kube.request({ method: 'POST', path: pathOf(Pods, namespace, name, 'eviction'), body });
    return { pod, end: 'ends' };
  } catch (error) {
    if (isNotFound(error)) return { pod, end: 'ends' };
    // One pod that must not go, for whatever reason, keeps no other.
    if (!(error instanceof KubeError)) throw error;
    return error.message.includes(EVACUATION_TRIGGERED)
      ? { pod, end: 'asked' }
      : { pod, end: 'refused', message: error.message };
  }
}
