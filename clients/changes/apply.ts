import { randomInt } from 'node:crypto';
import { CHANGES_ANNOTATION } from '../../api/names.ts';
import { VirtualMachines } from '../../api/resources.ts';
import { editsOf, withEdits, type Edit } from '../../decisions/changes/edits.ts';
import { changesOf, withChange, type ChangeNote } from '../../decisions/changes/note.ts';
import type { Json } from '../../decisions/lib/json.ts';
import { mergePatch } from '../../decisions/merge/vm.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound, isConflict, isTransient } from '../../kubernetes/errors.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import { sentenceOf } from '../cli/failure.ts';
import { nameOf, whyLeft, type Vm } from './plan.ts';

const AT_ONCE = 4;
const PAUSE_MS = 200;
const LETTERS = 'bcdfghjklmnpqrstvwxz2456789';

/** Returns an id for a change, such as `change-x7k2p`. */
export const newChangeId = (): string =>
  `change-${Array.from({ length: 5 }, () => LETTERS[randomInt(LETTERS.length)]).join('')}`;

/** What has become of VMs, each by `namespace/name`. */
export interface Outcome {
  changed: string[];
  failed: { vm: string; why: string }[];
  /** VMs that are not as they were planned any more, and to which nothing was done. */
  left: { vm: string; why: string }[];
  /** VMs whose former values were too long to be noted. */
  unnoted: string[];
  /** How many VMs were not begun with, after too many failures. */
  open: number;
}

export interface ApplyOptions extends Omit<ChangeNote, 'edits'> {
  /** More failures than this end it. */
  maxFailures: number;
}

/**
 * Changes these VMs, a few at a time, each in the version that it was read in, and notes on each in the same write what
 * was there before. So no VM is changed twice, though an answer may be lost.
 */
export async function applyChange(
  kube: KubeClient,
  vms: readonly Vm[],
  patch: Json,
  { maxFailures, ...note }: ApplyOptions,
): Promise<Outcome> {
  const outcome: Outcome = { changed: [], failed: [], left: [], unnoted: [], open: vms.length };
  await eachOf(vms, async (vm) => {
    if (outcome.failed.length > maxFailures) return;
    outcome.open--;
    try {
      const done = await changeOne(kube, vm, patch, note);
      if (typeof done === 'string') outcome.left.push({ vm: nameOf(vm), why: done });
      else outcome.changed.push(nameOf(vm));
      if (done === null) outcome.unnoted.push(nameOf(vm));
    } catch (error) {
      outcome.failed.push({ vm: nameOf(vm), why: sentenceOf(error) });
    }
  });
  return outcome;
}

/** Calls `act` for each VM, a few at once. */
export async function eachOf<T>(all: readonly T[], act: (one: T) => Promise<void>): Promise<void> {
  const rest = all.values();
  const work = async (): Promise<void> => {
    for (const one of rest) await act(one);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

/** Returns what was noted, null if it was too long, or why nothing was done. */
const changeOne = (
  kube: KubeClient,
  { metadata: { uid, namespace = '', name } }: Vm,
  patch: Json,
  note: Omit<ChangeNote, 'edits'>,
): Promise<Edit[] | null | string> =>
  retried(async () => {
    const live = await ignoreNotFound(kube.get<Vm>(VirtualMachines, { namespace, name }));
    if (live?.metadata.uid !== uid) return 'it was deleted';
    const noted = changesOf(live.metadata.annotations?.[CHANGES_ANNOTATION]).find(({ id }) => id === note.id);
    // The answer to an earlier try was lost.
    if (noted !== undefined) return noted.edits;
    const found = editsOf(live, patch);
    const why = whyLeft(live) ?? ('lacks' in found ? `there is no ${found.lacks}` : null);
    if (why !== null || 'lacks' in found) return why!;
    if (found.edits.length === 0) return 'it is as wanted already';
    const text = withChange(live.metadata.annotations?.[CHANGES_ANNOTATION], { ...note, edits: found.edits });
    await write(kube, live, withEdits(live, found.edits), text);
    return changesOf(text)[0]!.edits;
  });

export const retried = <T>(act: () => Promise<T>): Promise<T> =>
  retryOnConflict(act, {
    isRace: (error) => isConflict(error) || isTransient(error),
    pauseMs: (tries) => PAUSE_MS * tries,
  });

/** Writes the VM in the version that it was read in; `note`: its CHANGES_ANNOTATION, null to take that away. */
export async function write(kube: KubeClient, live: Vm, after: Vm, note: string | null): Promise<void> {
  const { uid, resourceVersion, namespace = '', name } = live.metadata;
  const { [CHANGES_ANNOTATION]: _before, ...others } = after.metadata.annotations ?? {};
  const annotations = note === null ? others : { ...others, [CHANGES_ANNOTATION]: note };
  const change = mergePatch(live, { ...after, metadata: { ...after.metadata, annotations } });
  const patch = { ...change, metadata: { ...change?.metadata, uid, resourceVersion } };
  await kube.patch(VirtualMachines, { namespace, name }, 'merge', patch);
}
