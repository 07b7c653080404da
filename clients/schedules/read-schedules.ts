import { CHANGE_CAUSE_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { VirtualMachineOperationSchedules } from '../../api/resources.ts';
import type { StoredSchedule } from '../../decisions/views/stored-schedule.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { print } from '../cli/print.ts';
import type { Session, Work } from '../session/session.ts';

export async function readSchedule(session: Session, name: string): Promise<[KubeClient, StoredSchedule]> {
  const [kube, namespace] = [await session.kube(), await session.namespace()];
  return [kube, await kube.get<StoredSchedule>(VirtualMachineOperationSchedules, { namespace, name })];
}

export const suspendSchedule: Work<{ reason?: string }> = (session, { reason }, name: string) =>
  setSuspend(session, name, true, reason);

export const resumeSchedule: Work<object> = (session, _flags, name: string) => setSuspend(session, name, false);

async function setSuspend(session: Session, name: string, suspend: boolean, reason?: string): Promise<void> {
  print(await suspended(await session.kube(), { namespace: await session.namespace(), name }, suspend, reason));
}

/** Suspends the schedule, or has it continue; returns what was done, in a sentence. */
export async function suspended(
  kube: KubeClient,
  { namespace, name }: { namespace: string; name: string },
  suspend: boolean,
  reason?: string,
): Promise<string> {
  const { metadata } = await kube.get<StoredSchedule>(VirtualMachineOperationSchedules, { namespace, name });
  const annotations = { [CHANGE_CAUSE_ANNOTATION]: reason ?? null };
  const patch = { metadata: { uid: metadata.uid, annotations }, spec: { suspend } };
  await kube.patch(VirtualMachineOperationSchedules, { namespace, name }, 'merge', patch);
  return `schedule ${namespace}/${name} ${suspend ? 'suspended' : 'resumed'}`;
}
