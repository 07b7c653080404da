import { isDeepStrictEqual } from 'node:util';
import type { Stored } from '../../api/objects.ts';
import { durationOf, isOn, Knob } from '../knobs.ts';
import { timestamp, withCondition, withoutCondition } from '../store/conditions.ts';
import type { Phase, TimedCondition, VirtualMachineInstance } from '../types.ts';
import { withPlugs } from '../vm/hotplug.ts';
import { pending } from './from-template.ts';
import {
  hasRun,
  INSTANCE_FINALIZER,
  isDeleting,
  isFinal,
  isPaused,
  NODE_LABEL,
  phaseOf,
  VM_CONTROLLER_FINALIZER,
} from './vmi.ts';

type Instance = Stored<VirtualMachineInstance>;

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
  /** True if this start fails. */
  failing: boolean;
  /** True if its VM exists, which must record the VMI's end before the VMI is deleted. */
  hasMachine: boolean;
  /** The machine type that its guest boots with. */
  machineType: string;
  migratable: boolean;
}

/** The VMI as it should be now (the same object if nothing changes), and when to look again. */
export interface Move {
  instance: Instance;
  wakeAt?: number;
}

const BOOT_MS = 1000;
const STOP_MS = 500;
const GRACE_SECONDS = 30;

export function nextMove(instance: Instance, around: Surroundings): Move {
  if (isFinal(instance)) return { instance: isDeleting(instance) ? released(instance, around) : instance };
  if (isDeleting(instance)) return shutDown(instance, around);
  const phase = phaseOf(instance);
  if (phase === undefined) return { instance: admitted(instance, around) };
  if (phase === 'Pending') return { instance: schedule(instance, around) };
  if (phase === 'Scheduling') return { instance: place(instance, around) };
  return phase === 'Scheduled' ? boot(instance, around) : run(instance, around);
}

/** Adds what admission sets on a VMI that was not created by a VM. */
function admitted(instance: Instance, { now }: Surroundings): Instance {
  const finalizers = [...(instance.metadata.finalizers ?? []), INSTANCE_FINALIZER];
  return {
    ...instance,
    metadata: { ...instance.metadata, finalizers },
    status: { ...instance.status, ...pending(instance.spec, now) },
  };
}

/** If a node fits, scheduling takes no time, and one write enters both phases. */
function schedule(instance: Instance, around: Surroundings): Instance {
  if (around.missingClaim === undefined) return place(entered(instance, 'Scheduling', around.now), around);
  const message = `failed to find PVC ${instance.metadata.namespace}/${around.missingClaim}`;
  const unsynchronized = saying(instance, 'Synchronized', 'False', 'FailedPvcNotFound', message, around.now);
  return saying(unsynchronized, 'PodScheduled', 'False', 'Unschedulable', message, around.now);
}

function place(instance: Instance, { node, lacksSource, now }: Surroundings): Instance {
  if (node === undefined || isOn(instance.metadata, Knob.unschedulable)) {
    const message = 'no node fits: none is schedulable and has all that the node selector and the machine type ask for';
    return saying(without(instance, 'Synchronized'), 'PodScheduled', 'False', 'Unschedulable', message, now);
  }
  const found = without(instance, 'PodScheduled');
  if (isOn(instance.metadata, Knob.imagePullFails)) {
    return saying(found, 'Synchronized', 'False', 'ImagePullBackOff', 'Back-off pulling image of a containerDisk', now);
  }
  // The kubelet retries to mount a missing source forever; only the pod's Events say so.
  if (lacksSource) return without(found, 'Synchronized');
  const placed = entered(without(found, 'Synchronized'), 'Scheduled', now);
  const labels = { ...placed.metadata.labels, [NODE_LABEL]: node };
  return { ...placed, metadata: { ...placed.metadata, labels }, status: { ...placed.status, nodeName: node } };
}

function boot(instance: Instance, around: Surroundings): Move {
  if (around.nodeLost) return { instance: unreachable(instance, around.now) };
  const due = around.since + (durationOf(instance.metadata, Knob.bootTime) ?? BOOT_MS);
  if (around.now < due) return { instance, wakeAt: due };
  if (around.failing) return { instance: entered(instance, 'Failed', around.now) };
  const { spec, status } = instance;
  const booted: Instance = { ...instance, status: { ...status, machine: { type: around.machineType } } };
  const running = entered(booted, 'Running', around.now);
  const started =
    spec.startStrategy === 'Paused'
      ? saying(running, 'Paused', 'True', 'PausedByUser', 'VMI was paused by user', around.now)
      : running;
  return run(started, { ...around, since: around.now });
}

function run(instance: Instance, around: Surroundings): Move {
  if (around.nodeLost) return { instance: unreachable(instance, around.now) };
  const runTime = durationOf(instance.metadata, Knob.runTime);
  const ends = runTime === undefined ? Infinity : around.since + runTime;
  if (around.now >= ends) {
    return { instance: ended(instance, around.now) };
  }
  const plugged = withPlugs(withReadiness(instance, around.now));
  return { instance: withMigratability(plugged, around), ...(ends === Infinity ? {} : { wakeAt: ends }) };
}

function ended(instance: Instance, now: number): Instance {
  const how = instance.metadata.annotations?.[Knob.runEnd];
  if (how === 'PodGone') {
    // virt-controller detects this. Unlike virt-handler, it records no timestamp of the phase transition.
    const down = notReady(instance, 'PodNotExists', 'virt-launcher pod has not yet been scheduled', now);
    return { ...down, status: { ...down.status, phase: 'Failed' } };
  }
  const down = notReady(instance, 'GuestNotRunning', 'Guest VM is not reported as running', now);
  return entered(down, how === 'Failed' ? 'Failed' : 'Succeeded', now);
}

function withReadiness(instance: Instance, now: number): Instance {
  if (isPaused(instance)) return notReady(instance, 'ReadinessGatesNotReady', 'the virtual machine is paused', now);
  if (isOn(instance.metadata, Knob.neverReady)) {
    return notReady(instance, 'ContainersNotReady', 'containers with unready status: [compute]', now);
  }
  return withConditions(instance, {
    type: 'Ready',
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: timestamp(now),
  });
}

function withMigratability(instance: Instance, { migratable, now }: Surroundings): Instance {
  if (migratable)
    return withConditions(instance, {
      type: 'LiveMigratable',
      status: 'True',
      lastProbeTime: null,
      lastTransitionTime: null,
    });
  const message = 'a disk is not shared: all claims would have to be ReadWriteMany';
  return saying(instance, 'LiveMigratable', 'False', 'DisksNotLiveMigratable', message, now);
}

/** A running guest takes as long as it needs, up to its grace period. A VMI that never ran ends at once. */
function shutDown(instance: Instance, around: Surroundings): Move {
  if (phaseOf(instance) !== 'Running' && !(phaseOf(instance) === 'Scheduled' && around.nodeLost)) {
    return { instance: released(entered(instance, 'Failed', around.now), around) };
  }
  if (around.nodeLost) return { instance: unreachable(instance, around.now) };
  const grace = (instance.spec.terminationGracePeriodSeconds ?? GRACE_SECONDS) * 1000;
  const due = around.since + Math.min(durationOf(instance.metadata, Knob.stopTime) ?? STOP_MS, grace);
  if (around.now < due) return { instance: unreachable(instance, around.now), wakeAt: due };
  return { instance: released(entered(instance, 'Succeeded', around.now), around) };
}

/** The VM controller's finalizer stays until the VM has counted the VMI's end. */
function released(instance: Instance, { hasMachine }: Surroundings): Instance {
  const counted = !hasMachine || (phaseOf(instance) === 'Succeeded' && hasRun(instance));
  const before = instance.metadata.finalizers ?? [];
  const finalizers = before.filter(
    (name) => name !== INSTANCE_FINALIZER && !(counted && name === VM_CONTROLLER_FINALIZER),
  );
  return finalizers.length === before.length
    ? instance
    : { ...instance, metadata: { ...instance.metadata, finalizers } };
}

function entered(instance: Instance, phase: Phase, now: number): Instance {
  const passed = instance.status?.phaseTransitionTimestamps ?? [];
  const transitions = [...passed, { phase, phaseTransitionTimestamp: timestamp(now) }];
  return { ...instance, status: { ...instance.status, phase, phaseTransitionTimestamps: transitions } };
}

/** Returns the VMI as it looks while its pod is terminating or its node doesn't answer. */
const unreachable = (instance: Instance, now: number): Instance =>
  notReady(instance, 'PodTerminating', 'virt-launcher pod is terminating', now);

const notReady = (instance: Instance, reason: string, message: string, now: number): Instance =>
  saying(instance, 'Ready', 'False', reason, message, now);

function saying(
  instance: Instance,
  type: string,
  status: 'True' | 'False',
  ...[reason, message, now]: [string, string, number]
): Instance {
  const time = timestamp(now);
  return withConditions(instance, { type, status, reason, message, lastProbeTime: time, lastTransitionTime: time });
}

function withConditions(instance: Instance, condition: TimedCondition): Instance {
  return conditionsReplaced(instance, withCondition(instance.status?.conditions ?? [], condition));
}

const without = (instance: Instance, type: string): Instance =>
  conditionsReplaced(instance, withoutCondition(instance.status?.conditions ?? [], type));

function conditionsReplaced(instance: Instance, conditions: TimedCondition[]): Instance {
  return isDeepStrictEqual(conditions, instance.status?.conditions ?? [])
    ? instance
    : { ...instance, status: { ...instance.status, conditions } };
}
