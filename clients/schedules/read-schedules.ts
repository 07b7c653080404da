import { CHANGE_CAUSE_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { VirtualMachineOperationSchedules } from '../../api/resources.ts';
import type { StoredSchedule } from '../../decisions/views/stored-schedule.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ofKnownKind } from '../cli/known-kind.ts';

export async function listSchedules(kube: KubeClient, namespace: string | undefined): Promise<StoredSchedule[]> {
  const listed = kube.list<StoredSchedule>(VirtualMachineOperationSchedules, { namespace });
  return (await ofKnownKind(VirtualMachineOperationSchedules, listed)).items;
}

export const readSchedule = (kube: KubeClient, namespace: string, name: string): Promise<StoredSchedule> =>
  ofKnownKind(
    VirtualMachineOperationSchedules,
    kube.get<StoredSchedule>(VirtualMachineOperationSchedules, { namespace, name }),
  );

export async function setSuspend(
  kube: KubeClient,
  { metadata: { namespace, name, uid } }: StoredSchedule,
  suspend: boolean,
  reason: string | undefined,
): Promise<void> {
  const annotations = { [CHANGE_CAUSE_ANNOTATION]: reason ?? null };
  const patch = { metadata: { uid, annotations }, spec: { suspend } };
  await kube.patch(VirtualMachineOperationSchedules, { namespace, name }, 'merge', patch);
}
