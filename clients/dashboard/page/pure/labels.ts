import type { ActionName, VmState } from '../../contract/fleet.ts';

/**
 * What is said about a VM in each state, in the order of a proportional bar: what is well first, what is worst last.
 * Their colours and glyphs: `styles/tokens.css`.
 */
export const STATES: Record<VmState, string> = {
  R: 'ready',
  Y: 'standby',
  O: 'stopped',
  U: 'restarting',
  S: 'starting',
  M: 'migrating',
  H: 'being healed',
  T: 'leaving',
  P: 'paused',
  D: 'down',
  F: 'failing',
};

interface ActionTexts {
  label: string;
  /** The question of the dialog; `NAME` stands for the object. */
  title: string;
  /** What it will do, in a sentence. */
  effect: string;
}

export const ACTIONS: Record<ActionName, ActionTexts> = {
  'rollout.pause': {
    label: 'Pause',
    title: 'Pause the rollout of NAME?',
    effect: 'No further VM is updated. Updates already in progress will finish.',
  },
  'rollout.resume': { label: 'Resume', title: 'Resume the rollout of NAME?', effect: 'It continues where it stopped.' },
  'rollout.promote': {
    label: 'Promote',
    title: 'Promote the rollout of NAME?',
    effect: 'The rollout continues to its next step, and after the last to all VMs.',
  },
  'rollout.abort': {
    label: 'Abort',
    title: 'Abort the rollout of NAME?',
    effect: 'No further VM is updated, and VMs that were updated stay so. The template stays as it is.',
  },
  'rollout.undo': {
    label: 'Undo',
    title: 'Undo the rollout of NAME?',
    effect: 'The pool gets the template back that all its VMs had before, and VMs are updated to it.',
  },
  'heal.pause': {
    label: 'Pause healing',
    title: 'Pause the healing of NAME?',
    effect: 'VMs that fail are not replaced.',
  },
  'heal.resume': {
    label: 'Resume healing',
    title: 'Resume the healing of NAME?',
    effect: 'VMs that fail are replaced again.',
  },
  'heal.now': {
    label: 'Heal now',
    title: 'Heal VMs of NAME now?',
    effect: 'Replaces the VM now, even if drover had given up on it.',
  },
  'heal.skip': {
    label: 'Skip',
    title: 'Skip the healing of VMs of NAME?',
    effect: 'The VM is left as it is until it has been ready again.',
  },
  'operation.pause': {
    label: 'Pause',
    title: 'Pause the operation NAME?',
    effect: 'No further VM is touched. What is already in progress will finish.',
  },
  'operation.resume': {
    label: 'Resume',
    title: 'Resume the operation NAME?',
    effect: 'It continues where it stopped.',
  },
  'operation.abort': {
    label: 'Abort',
    title: 'Abort the operation NAME?',
    effect: 'It ends once the VMs in progress are done, and cannot be resumed.',
  },
  'schedule.suspend': {
    label: 'Suspend',
    title: 'Suspend the schedule NAME?',
    effect: 'It makes no operation until it is resumed. Those in progress continue.',
  },
  'schedule.resume': {
    label: 'Resume',
    title: 'Resume the schedule NAME?',
    effect: 'It continues with its next run. Missed runs are not caught up.',
  },
  'drain.start': {
    label: 'Drain',
    title: 'Drain the node NAME?',
    effect: 'The node is cordoned, and each VM on it is asked to leave. Other pods stay where they are.',
  },
  'drain.cancel': {
    label: 'Cancel drain',
    title: 'Cancel the drain of NAME?',
    effect: 'The node is uncordoned, and VMs stay that have not begun to leave it.',
  },
};

const KINDS: Record<string, string> = {
  VirtualMachinePool: 'pool',
  VirtualMachineReplicaSet: 'replica set',
  VirtualMachineInstanceReplicaSet: 'VMI replica set',
};

/** What users call a card of this kind. */
export const kindLabel = (kind: string | null): string =>
  kind === null ? 'VMs without an owner' : (KINDS[kind] ?? kind);

/** `1 VM`, `3 VMs`. */
export const counted = (count: number, noun: string, nouns = `${noun}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? noun : nouns}`;

/** The text with a capital at its beginning, unless it begins with this name. */
export const capitalized = (text: string, name: string): string =>
  name !== '' && text.startsWith(name) ? text : `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
