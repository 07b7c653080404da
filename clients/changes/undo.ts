import { CHANGES_ANNOTATION } from '../../api/names.ts';
import { VirtualMachines } from '../../api/resources.ts';
import { formatPath } from '../../decisions/changes/edits.ts';
import { changesOf, withoutChange, type ChangeNote } from '../../decisions/changes/note.ts';
import { undone } from '../../decisions/changes/undo.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import { sentenceOf } from '../cli/failure.ts';
import { eachOf, retried, write } from './apply.ts';
import { nameOf, type Vm } from './plan.ts';

/** What has become of the VMs of a change, each by `namespace/name`. */
export interface UndoOutcome {
  undone: string[];
  /** Values that somebody has changed since, and that stay. */
  kept: { vm: string; paths: string[] }[];
  failed: { vm: string; why: string }[];
}

export const notesOf = (vm: Vm): ChangeNote[] => changesOf(vm.metadata.annotations?.[CHANGES_ANNOTATION]);

/** Puts back on these VMs what the change has set, but for what somebody has changed since. */
export async function undoChange(kube: KubeClient, vms: readonly Vm[], id: string): Promise<UndoOutcome> {
  const outcome: UndoOutcome = { undone: [], kept: [], failed: [] };
  await eachOf(vms, async (vm) => {
    try {
      const kept = await undoOne(kube, vm, id);
      outcome.undone.push(nameOf(vm));
      if (kept.length > 0) outcome.kept.push({ vm: nameOf(vm), paths: kept });
    } catch (error) {
      outcome.failed.push({ vm: nameOf(vm), why: sentenceOf(error) });
    }
  });
  return outcome;
}

/** Returns the paths of values that stay. */
const undoOne = (kube: KubeClient, { metadata: { uid, namespace = '', name } }: Vm, id: string): Promise<string[]> => {
  let kept: string[] = [];
  return retried(async () => {
    const live = await ignoreNotFound(kube.get<Vm>(VirtualMachines, { namespace, name }));
    const note = live?.metadata.uid === uid ? notesOf(live).find((one) => one.id === id) : undefined;
    // It is gone, or undone: by somebody else, or by an earlier try whose answer was lost.
    if (live === undefined || note === undefined) return kept;
    if (note.edits === null) throw new Error('what was there before was too long to be noted');
    const back = undone(live, note.edits);
    kept = back.kept.map(formatPath);
    await write(kube, live, back.after, withoutChange(live.metadata.annotations?.[CHANGES_ANNOTATION], id));
    return kept;
  });
};
