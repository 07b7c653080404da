import { EVENT_REPORTER } from '../../api/labels-and-annotations.ts';
import { apiVersionOf, CoreEvents, VirtualMachineInstances, VirtualMachines } from '../../api/resources.ts';
import { because } from '../../decisions/runs/report.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import { eventOf } from '../../kubernetes/event.ts';
import { mapAtOnce } from '../cli/at-once.ts';
import { sentenceOf } from '../cli/failure.ts';
import { userOf } from '../session/requester.ts';
import type { LauncherPod } from './evictions.ts';

const AT_ONCE = 8;

/**
 * Records an Event on each VM that an eviction has shut down: no workflow of drover's had a part in it. Returns what
 * could not be recorded, as sentences.
 */
export async function recordShutDowns(
  kube: KubeClient,
  node: string,
  pods: readonly LauncherPod[],
  reason: string | undefined,
): Promise<string[]> {
  if (pods.length === 0) return [];
  const note = `shut down to leave node ${node}, requested by ${await userOf(kube)}${because(reason)}`;
  const failed = await mapAtOnce(pods, AT_ONCE, (pod) => record(kube, node, pod, note).then(() => [], sentenceOf));
  const [first] = failed.flat();
  return first === undefined ? [] : [`the history of VMs that were shut down does not say so: ${first}`];
}

async function record(kube: KubeClient, node: string, { namespace, vmi, uid }: LauncherPod, note: string) {
  const key = { namespace, name: vmi };
  const vm = await ignoreNotFound(kube.get(VirtualMachines, key));
  const object = vm ?? (await ignoreNotFound(kube.get(VirtualMachineInstances, key)));
  if (object === undefined) return;
  const resource = vm === undefined ? VirtualMachineInstances : VirtualMachines;
  const regarding = { apiVersion: apiVersionOf(resource), kind: resource.kind, ...key, uid: object.metadata.uid };
  const details = { type: 'Normal', reason: 'Evicted', action: 'Drain', note } as const;
  const reporter = { component: EVENT_REPORTER, instance: `drain/${node}`, id: uid };
  await kube.create(CoreEvents, eventOf(regarding, details, reporter));
}
