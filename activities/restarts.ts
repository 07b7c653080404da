import { setTimeout as sleep } from 'node:timers/promises';
import { cancellationSignal, Context } from '@temporalio/activity';
import { liveVmi } from '../decisions/availability.ts';
import { RestartBudget, type OwningPool, type RestartBudgetInput, type RestartPicture } from '../decisions/restart-budget.ts';
import { planRestarts, restartNeed, type HeldRestart, type RestartOutcome, type RestartPlan } from '../decisions/restart-plan.ts';
import { laterSeen, type Seen } from '../decisions/versions.ts';
import type { StoredPool } from '../decisions/vm-from-template.ts';
import type { VmView } from '../decisions/vm.ts';
import type { KubeClient } from '../kubernetes/client.ts';
import { isConflict, isNotFound, isTransient, KubeError } from '../kubernetes/errors.ts';
import { controllerOf, type KubeObject } from '../kubernetes/objects.ts';
import { VirtualMachineInstances, VirtualMachinePools, VirtualMachines } from '../kubernetes/resources.ts';
import { inBurst } from './burst.ts';
import { Changes } from './changes.ts';
import type { ChosenGuests } from './chosen-guests.ts';
import { recordVmEvent } from './events.ts';
import type { Fleet } from './fleet.ts';
import { restartVm } from './restart-vm.ts';
import { vmView, type VirtualMachine } from './vm-view.ts';
import { vmiView, type VirtualMachineInstance } from './vmi-view.ts';

const HEARTBEAT_MS = 2_000;
/** Events that come together are looked at together; of many thousand VMs, not more often than this times their number. */
const SETTLE_MS = 50;
const SETTLE_MS_A_VM = 0.05;
/** A picture that nothing has changed is looked at again, should a watch have missed something. */
const LOOK_AGAIN_MS = 30_000;
/** Freed budget is gathered for so long, unless a quarter of it has come together before. */
const GATHER_MS = 1_000;
/** What is waited for, and has changed, is told after so long. */
const TELL_MS = 5_000;
/** Somebody else's hand in the same VM: it is looked at anew. */
const TRIES = 8;
const TRY_AGAIN_MS = 100;

interface Pace {
  maxUnavailable: number;
  inHand: HeldRestart[];
  seen: Seen;
}

export interface AwaitRestartsRequest extends Pace {
  /** Not to be tried again, by `namespace/name`. */
  failed: string[];
  deadlineMs: number;
  /** Whether further VMs may be taken. */
  takes: boolean;
  /** None are taken before; milliseconds since the epoch. */
  notBefore: number;
  /** Since when nothing has been taken and nothing has come back: after `deadlineMs` of that, what is left is left. */
  quietSince: number;
  /** What the workflow says it waits for; null where it says nothing yet. */
  told: string | null;
}

export interface RestartLook extends Omit<RestartPlan, 'wakeAt'> {
  /** Nothing is left to be done, or waited for any longer. */
  isOver: boolean;
  /** What is waited for, to be compared with. */
  told: string;
  seen: Seen;
}

export interface BeginRestartsRequest extends Pace {
  /** Of those in hand, the ones to be restarted now, by `namespace/name`. */
  vms: string[];
  askedBy: string;
  reason: string | null;
}

export interface BegunRestarts {
  /** Of the VMs that are not waited for. */
  outcomes: RestartOutcome[];
  seen: Seen;
}

export interface RestartActivityOptions {
  client: KubeClient;
  fleet: Fleet;
  chosenGuests: ChosenGuests;
  /** Calls to the API server at once, for one activity. */
  concurrency: number;
  /** Aborted when the worker is asked to end. */
  stopping: AbortSignal;
}

export function createRestartActivities({ client, fleet, chosenGuests, concurrency, stopping }: RestartActivityOptions) {
  const picture: RestartPicture = {
    vmOf: (key) => fleet.vms.get(key),
    vmiOf: (vm) => fleet.vmiOf(vm),
    poolOf: (vm) => ownerOf(vm, vm.owner === null ? undefined : fleet.pools.get(`${vm.namespace}/${vm.owner.name}`)),
  };
  /** Guests that this worker has sent down, until its cache shows it: another run's budget would not know of them. By VM. */
  const sent = new Map<string, string>();

  return {
    /**
     * Waits until some of the chosen VMs can be restarted, or some of those in hand have come back or are late, and says which.
     * It reads nothing but this worker's caches.
     */
    async awaitRestarts(request: AwaitRestartsRequest): Promise<RestartLook> {
      const { heartbeat } = Context.current();
      const beat = setInterval(() => heartbeat(), HEARTBEAT_MS);
      let changes: Changes | undefined;
      try {
        const chosen = await chosenGuests.ofThisRun();
        const namespaces = new Set([...chosen.keys()].map((key) => key.slice(0, key.indexOf('/'))));
        changes = new Changes(fleet, stopping, ({ namespace }) => namespaces.has(namespace));
        await fleet.catchUp(request.seen);
        const began = Date.now();
        const failed = new Set(request.failed);
        let foundAt: number | null = null;
        for (;;) {
          cancellationSignal().throwIfAborted();
          const now = Date.now();
          const takes = request.takes && now >= request.notBefore;
          const { wakeAt, ...plan } = planRestarts({ ...request, chosen, picture, failed, takes, now });
          const isOver = isOverAt(now, plan, request);
          const told = JSON.stringify([plan.passedOver, plan.full]);
          foundAt = plan.take.length + plan.settled.length === 0 ? null : (foundAt ?? now);
          const dues = [
            isOver || request.told === null || isPlenty(plan, request) ? now : Infinity,
            foundAt === null ? Infinity : foundAt + GATHER_MS,
            told === request.told ? Infinity : began + TELL_MS,
          ];
          if (Math.min(...dues) <= now) return { ...plan, isOver, told, seen: { vms: String(fleet.vms.version), vmis: String(fleet.vmis.version) } };
          const times = [wakeAt ?? Infinity, request.notBefore, request.quietSince + request.deadlineMs].filter((time) => time > now);
          await changes.next(Math.min(...dues, ...times, now + LOOK_AGAIN_MS) - now, Math.max(SETTLE_MS, chosen.size * SETTLE_MS_A_VM));
        }
      } finally {
        clearInterval(beat);
        changes?.stop();
      }
    },

    /**
     * Restarts the guests of these VMs, each only where it is still the one that was chosen, nothing stands in its way, and the
     * budgets have room. May be run again at any point: a guest that is gone, or asked to go, is left alone.
     *
     * What remains between two budgets that know nothing of each other, a pool's own rollout and this: each looks at the newest
     * picture right before each act, and the other's acts are in that picture a few milliseconds after they were done, at once
     * where both are this worker's restarts. Only acts that fall into those milliseconds on two workers can both find the last room.
     * A rollout can't even do that when it begins: as soon as the pool has another template, which is asked of the API server
     * itself, its VMs are left to it, and it takes longer to begin than the one call that may be on its way here. What can is a
     * rollout that goes on after a pause, a step or a window in the very same moment.
     */
    async beginRestarts({ vms, inHand, maxUnavailable, askedBy, reason, seen }: BeginRestartsRequest): Promise<BegunRestarts> {
      const { heartbeat } = Context.current();
      const outcomes: RestartOutcome[] = [];
      const beat = setInterval(() => heartbeat(outcomes.length), HEARTBEAT_MS);
      const done: Seen = {};
      try {
        const chosen = await chosenGuests.ofThisRun();
        await fleet.catchUp(seen);
        const waiting = new Set(vms);
        const acting = inHand.map(({ vm }) => vm).filter((key) => !waiting.has(key));
        const act = async (key: string): Promise<void> => {
          const outcome = await retried(key, () => take(key, chosen.get(key)!));
          if (outcome !== null) outcomes.push(outcome);
        };
        const take = async (key: string, guest: string): Promise<RestartOutcome | null> => {
          const { vm, vmi, owner } = await read(key);
          const need = restartNeed(guest, vm, vmi, owner);
          if (vm === undefined || need.need === 'nothing') return null;
          const why = need.need === 'restart' ? roomFor(vm, owner, { chosen, acting, maxUnavailable }) : need.why;
          if (why !== null || need.need !== 'restart') return { vm: key, end: 'Deferred', why: why! };
          acting.push(key);
          sent.set(key, guest);
          try {
            Object.assign(done, laterSeen(done, await restartVm(client, vm, need.guest)));
          } catch (error) {
            acting.splice(acting.indexOf(key), 1);
            sent.delete(key);
            throw error instanceof KubeError && error.status === 500 ? new Unwilling(error.message) : error;
          }
          const note = `Restarted within a budget, asked for by ${askedBy}${reason === null ? '' : `: ${reason}`}`;
          await recordVmEvent(client, vm, { type: 'Normal', reason: 'Restarted', action: 'Restart', note });
          return null;
        };
        await inBurst(vms, act, { most: concurrency, atFirst: concurrency, signal: cancellationSignal() });
        return { outcomes, seen: done };
      } finally {
        clearInterval(beat);
      }
    },
  };

  /** As the API server has them in this moment. */
  async function read(key: string): Promise<{ vm?: VmView; vmi?: ReturnType<typeof vmiView>; owner: OwningPool | undefined }> {
    const [namespace = '', name = ''] = key.split('/');
    const signal = cancellationSignal();
    const cached = fleet.vms.get(key);
    const poolName = cached && picture.poolOf(cached)?.pool.metadata.name;
    const [vm, vmi, pool] = await Promise.all([
      orNothing(client.get<VirtualMachine>(VirtualMachines, { namespace, name }, { signal })),
      orNothing(client.get<VirtualMachineInstance>(VirtualMachineInstances, { namespace, name }, { signal })),
      poolName === undefined ? undefined : orNothing(client.get<KubeObject>(VirtualMachinePools, { namespace, name: poolName }, { signal })),
    ]);
    if (vm === undefined) return { owner: undefined };
    const view = vmView(vm);
    const own = vmi !== undefined && controllerOf(vmi)?.uid === view.uid ? { vmi: vmiView(vmi) } : {};
    return { vm: view, ...own, owner: ownerOf(view, pool as StoredPool | undefined) };
  }

  function ownerOf(vm: Pick<VmView, 'owner'>, pool: StoredPool | undefined): OwningPool | undefined {
    return pool === undefined || pool.metadata.uid !== vm.owner?.uid ? undefined : { pool, vms: fleet.ownedBy(pool.metadata.uid) };
  }

  /** Decided anew for each act, on the newest picture. */
  function roomFor(vm: VmView, owner: OwningPool | undefined, { acting, ...limits }: Limits & { acting: string[] }): string | null {
    for (const [key, guest] of sent) {
      const known = fleet.vms.get(key);
      if (known === undefined || liveVmi(fleet.vmiOf(known))?.uid !== guest) sent.delete(key);
    }
    const inHand = [...acting, ...sent.keys()];
    return new RestartBudget({ ...limits, picture: { ...picture, poolOf: () => owner }, inHand }).whyNot(vm);
  }
}

type Limits = Pick<RestartBudgetInput, 'chosen' | 'maxUnavailable'>;

export type RestartActivities = ReturnType<typeof createRestartActivities>;

function isOverAt(now: number, { take, settled, open }: Omit<RestartPlan, 'wakeAt'>, request: AwaitRestartsRequest): boolean {
  const { inHand, takes, quietSince, deadlineMs } = request;
  if (inHand.length > settled.length || take.length > 0) return false;
  return open === 0 || !takes || (settled.length === 0 && now >= quietSince + deadlineMs);
}

/** Whether there is enough to begin with, or nothing to gather any more. */
function isPlenty({ take, settled }: Omit<RestartPlan, 'wakeAt'>, { inHand, maxUnavailable }: AwaitRestartsRequest): boolean {
  return take.length >= Math.ceil(maxUnavailable / 4) || (settled.length > 0 && settled.length === inHand.length);
}

/** KubeVirt answers 500 also where it won't: what it says again and again is its last word. */
class Unwilling extends Error {
  override readonly name = 'Unwilling';
}

/** Null where the VM is waited for. Throws what may pass, for the caller to try again. */
async function retried(key: string, take: () => Promise<RestartOutcome | null>): Promise<RestartOutcome | null> {
  for (let tries = 1; ; tries++) {
    try {
      return await take();
    } catch (error) {
      const isRefusal = error instanceof Unwilling || isConflict(error);
      if (!isRefusal && (!(error instanceof KubeError) || isTransient(error))) throw error;
      if (!isRefusal || tries === TRIES) return { vm: key, end: 'Failed', why: error.message };
      await sleep(TRY_AGAIN_MS * tries);
    }
  }
}

const orNothing = <T>(call: Promise<T>): Promise<T | undefined> =>
  call.catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
