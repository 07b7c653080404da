import { durationMs, isDuration } from '../api/duration.ts';
import { countOf } from '../api/int-or-percent.ts';
import type { RolloutStatus } from '../api/pool.ts';
import { isDown, isMeantToRun, runsByItself } from './availability.ts';
import type { InHand } from './rollout-hand.ts';
import type { RolloutNeeds } from './rollout-needs.ts';
import type { RolloutScene } from './rollout-scene.ts';
import { hasFailed, promoted } from './rollout-state.ts';
import type { Goal } from './update-need.ts';
import type { VmView } from './vm.ts';

/** Where a rollout stands in its steps. */
export interface StepRoom {
  state: RolloutStatus;
  /** How many more running VMs may be taken before the next step; null where no step is left. */
  room: number | null;
}

/** Passes each step whose time is over, and notes when one is reached. */
export function stepRoom(scene: RolloutScene, state: RolloutStatus, goal: Goal, needs: RolloutNeeds, inHand: InHand): StepRoom {
  const { waits } = scene;
  const { steps } = scene.spec.rollout;
  const { vmiOf, now, coming } = scene.input;
  const { free, later, laterRunning } = needs;
  if (scene.spec.update.kind !== 'proactive' || goal.revision !== scene.newest) return { state, room: null };
  const isDone = free.length === 0 && later === 0 && inHand.all.size === 0;
  // Where all is of the goal already, there is nothing to be careful about.
  if (isDone && (state.batches === 0 || state.completedAt !== undefined)) return { state, room: null };
  const isToCome = inHand.all.size > 0 || laterRunning > 0 || free.some(({ vm }) => isMeantToRun(vm, vmiOf(vm)));
  const wanting = new Set(free.map(({ vm }) => vm.name));
  const there = towards(scene, state, goal).filter((vm) => !wanting.has(vm.name) && !inHand.all.has(vm.name));
  // Below a step new VMs get the revision that all had; who goes back to that one gets them of it.
  const taken = there.length + inHand.all.size + (goal.revision === scene.current ? coming : 0);
  const well = there.filter((vm) => !isDown(vm, vmiOf(vm))).length;
  for (let at = state; ; at = promoted(at, steps.length, false)) {
    const step = steps[at.step];
    if (step === undefined) return { state: at, room: null };
    const most = countOf(step.to, scene.spec.replicas, 1);
    const room = most - taken;
    const words = `step ${at.step + 1} of ${steps.length} (${step.to})`;
    const isReached = well >= most || !isToCome;
    // Where drover can do nothing more either, it waits.
    if (!isReached && (room > 0 || inHand.all.size > 0)) return { state: at, room };
    const stepReachedAt = at.stepReachedAt ?? scene.now;
    const reached = { state: { ...at, stepReachedAt }, room };
    if (!isReached) {
      waits.for('Step', `${words}: ${most - well} of its VMs are not ready`);
      return reached;
    }
    const { wait } = step.then;
    // One that can't be read may have been stored before the API server refused it: nobody knows how long it should be.
    if (wait === undefined || !isDuration(wait)) {
      const why = wait === undefined ? '' : `its wait ${JSON.stringify(wait)} is no duration such as 30s, 10m or 1h30m, and so `;
      waits.for('Approval', `${words} is reached: ${why}it waits for \`drover rollout promote\``);
      return reached;
    }
    // Who has stopped it hears nothing of its clock; once it goes on, the time that has passed counts.
    if (scene.isStopped(at)) return reached;
    const until = Date.parse(stepReachedAt) + durationMs(wait);
    if (until > now) {
      waits.wake(until);
      waits.for('Step', `${words} is reached: it goes on at ${new Date(until).toISOString()}`);
      return reached;
    }
  }
}

/**
 * VMs that run, or should, and have the goal's spec, or that have been stopped by it. One that isn't ready counts too, so that
 * no other follows a guest that crashes at its step; only one that has failed is made up for.
 */
function towards(scene: RolloutScene, state: RolloutStatus, goal: Goal): VmView[] {
  const { vmiOf } = scene.input;
  const mayStop = !runsByItself(goal.template);
  return scene.staying.filter(
    (vm) => vm.revision === goal.revision && (mayStop || isMeantToRun(vm, vmiOf(vm))) && !(hasFailed(state, vm) && isDown(vm, vmiOf(vm))),
  );
}
