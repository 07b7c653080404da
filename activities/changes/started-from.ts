import type { KubeObject } from '../../api/objects.ts';
import { ControllerRevisions } from '../../api/resources.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';

type StartRevision = KubeObject & { data?: { spec?: object } };

/**
 * Returns the spec that the VMI was started from, as KubeVirt keeps it in a ControllerRevision, if the VM may have
 * another one since; undefined if it has none, or if KubeVirt keeps no such copy. KubeVirt itself judges by this copy
 * whether the VM waits for a restart.
 */
export async function startedFrom(
  client: KubeClient,
  { namespace, uid, restartRequired, generationObserved }: VmView,
  vmi: VmiView | undefined,
): Promise<object | undefined> {
  if (vmi === undefined || vmi.startGeneration === null) return undefined;
  if (restartRequired === null && generationObserved) return undefined;

  const name = `revision-start-vm-${uid}-${vmi.startGeneration}`;
  const found = client.get<StartRevision>(ControllerRevisions, { namespace, name });
  return (await ignoreNotFound(found))?.data?.spec;
}
