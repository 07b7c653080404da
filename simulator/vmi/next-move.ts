import { isDeepStrictEqual } from 'node:util';
import { durationOf, isOn, SimulatorAnnotation } from '../objects/annotations.ts';
import { conditionOf, timestamp, withCondition, withoutCondition } from '../objects/conditions.ts';
import type { Phase, TimedCondition, Vmi } from '../objects/kubevirt.ts';
import {
  hasRun,
  VMI_FINALIZER,
  isDeleting,
  isFinal,
  isPaused,
  NODE_LABEL,
  phaseOf,
  VM_CONTROLLER_FINALIZER,
} from '../objects/vmi.ts';
import { withHotplugConditions } from '../vm/hotplug.ts';
import { withBackup } from './backup.ts';
import { pending } from './from-template.ts';

/** What a VMI's next move depends on, apart from the VMI. Times are in milliseconds since the epoch. */
export interface Surroundings {
  now: number;
  /** When it entered its phase or, if it is terminating, when its deletion began. */
  since: number;
  /** The first missing claim of its volumes; undefined if none is missing. */
  missingClaim: string | undefined;
  /** True if a Secret or ConfigMap that its pod mounts is missing. */
  lacksSource: boolean;
  /** The node that it would be scheduled to now; undefined if none fits, or if it has a node already. */
  node: string | undefined;
  nodeLost: boolean;
  /** Its node was deleted, and its pod with it. */
  nodeGone: boolean;
  failing: boolean;
  /** True if its VM exists, which must record the VMI's end before the VMI is deleted. */
  hasVm: boolean;
  /** The machine type that the guest boots with. */
  machineType: string;
  migratable: boolean;
}

/** The VMI as it should be now (the same object if nothing changes), and when to look again. */
export interface Move {
  vmi: Vmi;
  nextMoveAt?: number;
}

const BOOT_MS = 1000;
const STOP_MS = 500;
/** KubeVirt's `DefaultGracePeriodSeconds`. */
const GRACE_SECONDS = 30;
/** KubeVirt's reason of the condition `Paused` of a VMI whose disk has failed. */
const IO_ERROR = 'PausedIOError';

export function nextMove(vmi: Vmi, around: Surroundings): Move {
  if (isFinal(vmi)) return { vmi: isDeleting(vmi) ? released(vmi, around) : vmi };
  if (isDeleting(vmi)) return shutDown(vmi, around);
  const phase = phaseOf(vmi);
  if (phase === undefined) return { vmi: admitted(vmi, around) };
  if (phase === 'Pending') return { vmi: schedule(vmi, around) };
  if (phase === 'Scheduling') return { vmi: bindToNode(vmi, around) };
  return phase === 'Scheduled' ? boot(vmi, around) : run(vmi, around);
}

/** Adds what admission sets on a VMI that was not created by a VM. */
function admitted(vmi: Vmi, { now }: Surroundings): Vmi {
  const finalizers = [...(vmi.metadata.finalizers ?? []), VMI_FINALIZER];
  return {
    ...vmi,
    metadata: { ...vmi.metadata, finalizers },
    status: { ...vmi.status, ...pending(vmi.spec, now) },
  };
}

/** If a node fits, scheduling takes no time, and one write enters both phases. */
function schedule(vmi: Vmi, around: Surroundings): Vmi {
  if (around.missingClaim === undefined) return bindToNode(entered(vmi, 'Scheduling', around.now), around);
  const message = `failed to find PVC ${vmi.metadata.namespace}/${around.missingClaim}`;
  const unsynchronized = saying(vmi, 'Synchronized', 'False', 'FailedPvcNotFound', message, around.now);
  return saying(unsynchronized, 'PodScheduled', 'False', 'Unschedulable', message, around.now);
}

function bindToNode(vmi: Vmi, { node, lacksSource, now }: Surroundings): Vmi {
  if (node === undefined || isOn(vmi.metadata, SimulatorAnnotation.unschedulable)) {
    const message = 'no schedulable node matches the node selector and the machine type of the VM';
    return saying(without(vmi, 'Synchronized'), 'PodScheduled', 'False', 'Unschedulable', message, now);
  }
  const found = without(vmi, 'PodScheduled');
  if (isOn(vmi.metadata, SimulatorAnnotation.imagePullFails)) {
    return saying(found, 'Synchronized', 'False', 'ImagePullBackOff', 'Back-off pulling image of a containerDisk', now);
  }
  // The kubelet retries to mount a missing source forever; only the pod's Events say so.
  if (lacksSource) return without(found, 'Synchronized');
  const placed = entered(without(found, 'Synchronized'), 'Scheduled', now);
  const labels = { ...placed.metadata.labels, [NODE_LABEL]: node };
  return { ...placed, metadata: { ...placed.metadata, labels }, status: { ...placed.status, nodeName: node } };
}

function boot(vmi: Vmi, around: Surroundings): Move {
  if (around.nodeGone) return { vmi: givenUp(vmi) };
  if (around.nodeLost) return { vmi: unreachable(vmi, around.now) };
  const due = around.since + (durationOf(vmi.metadata, SimulatorAnnotation.bootTime) ?? BOOT_MS);
  if (around.now < due) return { vmi, nextMoveAt: due };
  if (around.failing) return { vmi: entered(vmi, 'Failed', around.now) };
  const { spec, status } = vmi;
  const booted: Vmi = { ...vmi, status: { ...status, machine: { type: around.machineType } } };
  const running = entered(booted, 'Running', around.now);
  const started =
    spec.startStrategy === 'Paused'
      ? saying(running, 'Paused', 'True', 'PausedByUser', 'VMI was paused by user', around.now)
      : running;
  return run(started, { ...around, since: around.now });
}

function run(vmi: Vmi, around: Surroundings): Move {
  if (around.nodeGone) return { vmi: givenUp(vmi) };
  if (around.nodeLost) return { vmi: unreachable(vmi, around.now) };
  const runTime = durationOf(vmi.metadata, SimulatorAnnotation.runTime);
  const ends = runTime === undefined ? Infinity : around.since + runTime;
  if (around.now >= ends) {
    return { vmi: ended(vmi, around.now) };
  }
  const running = withBackup(withIoError(vmi, around.now), around.now);
  const plugged = withHotplugConditions(withReadiness(running, around.now));
  return { vmi: withMigratability(plugged, around), ...(ends === Infinity ? {} : { nextMoveAt: ends }) };
}

function ended(vmi: Vmi, now: number): Vmi {
  const how = vmi.metadata.annotations?.[SimulatorAnnotation.runEnd];
  if (how === 'PodGone') {
    // virt-controller detects this. Unlike virt-handler, it records no timestamp of the phase transition.
    const down = notReady(vmi, 'PodNotExists', 'virt-launcher pod has not yet been scheduled', now);
    return { ...down, status: { ...down.status, phase: 'Failed' } };
  }
  const down = notReady(vmi, 'GuestNotRunning', 'Guest VM is not reported as running', now);
  return entered(down, how === 'Failed' ? 'Failed' : 'Succeeded', now);
}

/** Sets, and takes back, the pause by which QEMU stops a guest whose disk fails. */
function withIoError(vmi: Vmi, now: number): Vmi {
  if (isOn(vmi.metadata, SimulatorAnnotation.ioError) && !isPaused(vmi))
    return saying(vmi, 'Paused', 'True', IO_ERROR, 'VMI was paused, low-level IO error detected', now);
  const isOver = vmi.metadata.annotations?.[SimulatorAnnotation.ioError] === 'false';
  return isOver && conditionOf(vmi, 'Paused')?.reason === IO_ERROR ? without(vmi, 'Paused') : vmi;
}

function withReadiness(vmi: Vmi, now: number): Vmi {
  // The part that plays a failing disk has written why the VMI is not ready.
  const isBroken = isPaused(vmi) && conditionOf(vmi, 'Paused')?.reason !== 'PausedByUser';
  if (isBroken && conditionOf(vmi, 'Ready')?.status === 'False') return vmi;
  if (isPaused(vmi)) return notReady(vmi, 'ReadinessGatesNotReady', 'the virtual machine is paused', now);
  if (isOn(vmi.metadata, SimulatorAnnotation.neverReady)) {
    return notReady(vmi, 'ContainersNotReady', 'containers with unready status: [compute]', now);
  }
  return withConditions(vmi, {
    type: 'Ready',
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: timestamp(now),
  });
}

function withMigratability(vmi: Vmi, { migratable, now }: Surroundings): Vmi {
  if (isOn(vmi.metadata, SimulatorAnnotation.notMigratable))
    return saying(
      vmi,
      'LiveMigratable',
      'False',
      'HostDeviceNotLiveMigratable',
      'a device of its host cannot move',
      now,
    );
  if (migratable)
    return withConditions(vmi, {
      type: 'LiveMigratable',
      status: 'True',
      lastProbeTime: null,
      lastTransitionTime: null,
    });
  const message = 'a disk is not shared: all claims would have to be ReadWriteMany';
  return saying(vmi, 'LiveMigratable', 'False', 'DisksNotLiveMigratable', message, now);
}

/** A running VMI takes as long as it needs, up to its grace period. A VMI that never ran ends at once. */
function shutDown(vmi: Vmi, around: Surroundings): Move {
  if (phaseOf(vmi) !== 'Running' && !(phaseOf(vmi) === 'Scheduled' && around.nodeLost)) {
    return { vmi: released(entered(vmi, 'Failed', around.now), around) };
  }
  if (around.nodeGone) return { vmi: released(givenUp(vmi), around) };
  if (around.nodeLost) return { vmi: unreachable(vmi, around.now) };
  const grace = (vmi.spec.terminationGracePeriodSeconds ?? GRACE_SECONDS) * 1000;
  const due = around.since + Math.min(durationOf(vmi.metadata, SimulatorAnnotation.stopTime) ?? STOP_MS, grace);
  if (around.now < due) return { vmi: terminating(vmi, around.now), nextMoveAt: due };
  return { vmi: released(entered(vmi, 'Succeeded', around.now), around) };
}

/** The VM controller's finalizer stays until the VM has counted the VMI's end. */
function released(vmi: Vmi, { hasVm }: Surroundings): Vmi {
  const counted = !hasVm || (phaseOf(vmi) === 'Succeeded' && hasRun(vmi));
  const before = vmi.metadata.finalizers ?? [];
  const finalizers = before.filter((name) => name !== VMI_FINALIZER && !(counted && name === VM_CONTROLLER_FINALIZER));
  return finalizers.length === before.length ? vmi : { ...vmi, metadata: { ...vmi.metadata, finalizers } };
}

function entered(vmi: Vmi, phase: Phase, now: number): Vmi {
  const passed = vmi.status?.phaseTransitionTimestamps ?? [];
  const transitions = [...passed, { phase, phaseTransitionTimestamp: timestamp(now) }];
  return { ...vmi, status: { ...vmi.status, phase, phaseTransitionTimestamps: transitions } };
}

/** Returns the VMI as it looks while its pod is terminating. */
const terminating = (vmi: Vmi, now: number): Vmi =>
  notReady(vmi, 'PodTerminating', 'virt-launcher pod is terminating', now);

/**
 * Returns the VMI as it looks while its node doesn't answer: Kubernetes marks the pod as not ready, and says no reason.
 */
const unreachable = (vmi: Vmi, now: number): Vmi => notReady(vmi, '', '', now);

/**
 * Returns the VMI as KubeVirt's node controller leaves it, once its pod is gone: without the time of the transition.
 */
const givenUp = (vmi: Vmi): Vmi => ({ ...vmi, status: { ...vmi.status, phase: 'Failed', reason: 'NodeUnresponsive' } });

/** As KubeVirt takes the condition over from the pod, which keeps the time when only the reason changes. */
function notReady(vmi: Vmi, reason: string, message: string, now: number): Vmi {
  const time = timestamp(now);
  const before = conditionOf(vmi, 'Ready');
  const since = before?.status === 'False' ? (before.lastTransitionTime ?? time) : time;
  const times = { lastProbeTime: time, lastTransitionTime: since };
  return withConditions(vmi, { type: 'Ready', status: 'False', reason, message, ...times });
}

function saying(
  vmi: Vmi,
  type: string,
  status: 'True' | 'False',
  ...[reason, message, now]: [string, string, number]
): Vmi {
  const time = timestamp(now);
  return withConditions(vmi, { type, status, reason, message, lastProbeTime: time, lastTransitionTime: time });
}

function withConditions(vmi: Vmi, condition: TimedCondition): Vmi {
  return conditionsReplaced(vmi, withCondition(vmi.status?.conditions ?? [], condition));
}

const without = (vmi: Vmi, type: string): Vmi =>
  conditionsReplaced(vmi, withoutCondition(vmi.status?.conditions ?? [], type));

function conditionsReplaced(vmi: Vmi, conditions: TimedCondition[]): Vmi {
  return isDeepStrictEqual(conditions, vmi.status?.conditions ?? [])
    ? vmi
    : { ...vmi, status: { ...vmi.status, conditions } };
}
